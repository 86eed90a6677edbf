import type Stripe from 'stripe'
import type { App } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import { settleCharge } from './collect.ts'
import { isEventRecorded, recordEvent, selectCharge } from './payment-store.ts'
import { stripeKeysOf } from './provider-of.ts'
import { createStripe, outcomeOf } from './stripe-provider.ts'

/**
 * Returns a handler of Stripe's signed events; null without Stripe. For an event about a payment, the handler reads the payment
 * from Stripe, so late, repeated or reordered events do no harm. It throws Refusal 400 for a signature that is invalid or too
 * old.
 */
export function stripeEventsOf(app: App): ((body: string, signature: string) => Promise<void>) | null {
  const keys = stripeKeysOf(app)
  if (!keys) return null
  const stripe = createStripe(keys)
  return async (body, signature) => {
    let event: Stripe.Event
    try {
      event = await stripe.webhooks.constructEventAsync(body, signature, keys.webhookSecret)
    } catch {
      throw invalid('BAD_SIGNATURE', 'The signature is not valid.')
    }
    if (await isEventRecorded(app.db, event.id)) return
    if (event.type === 'payment_intent.succeeded' || event.type === 'payment_intent.payment_failed')
      await settlePayment(app, stripe, event.data.object.id)
    // Recorded last, because Stripe sends an event again if its handler failed.
    await recordEvent(app.db, event.id, app.clock.now())
  }
}

async function settlePayment(app: App, stripe: Stripe, id: string): Promise<void> {
  const intent = await stripe.paymentIntents.retrieve(id)
  const charge = await selectCharge(app.db, intent.metadata['charge'] ?? '')
  if (!charge || charge.status === 'succeeded' || intent.status === 'processing') return
  await settleCharge(app, charge, outcomeOf(intent))
}
