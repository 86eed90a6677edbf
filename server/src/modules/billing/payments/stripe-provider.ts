import type { PaymentMethod } from '@shoal/contract'
import { Stripe } from 'stripe'
import { notFound, refuse } from '../../../errors.ts'
import type { ChargeOutcome, PaymentProvider } from './provider.ts'

/** Stripe's API keys, and the address of its API. */
export type StripeSettings = { secretKey: string; publishableKey: string; url: string }

/** Returns Stripe's client; `url` lets tests use a local server. */
export function createStripe({ secretKey, url }: Pick<StripeSettings, 'secretKey' | 'url'>): Stripe {
  const { hostname, port, protocol } = new URL(url)
  return new Stripe(secretKey, {
    host: hostname,
    port: port || (protocol === 'https:' ? 443 : 80),
    protocol: protocol === 'https:' ? 'https' : 'http',
    // The client repeats a failed request with the same idempotency key.
    maxNetworkRetries: 2,
    timeout: 20_000,
    telemetry: false,
  })
}

/**
 * Charges cards and Link accounts off-session, after customers have set them up in the browser. Always reads outcomes from
 * Stripe.
 */
export function createStripeProvider(settings: StripeSettings): PaymentProvider {
  const stripe = createStripe(settings)
  return {
    name: 'stripe',
    publishableKey: settings.publishableKey,
    createCustomer: async ({ orgId, code, name, email }) => {
      const customer = await stripe.customers.create(
        { name, ...(email ? { email } : {}), metadata: { orgId: String(orgId), code } },
        { idempotencyKey: `customer-${orgId}` },
      )
      return customer.id
    },
    startSetup: async (customer) => {
      const setup = await stripe.setupIntents.create({
        customer,
        usage: 'off_session',
        allowed_payment_method_types: ['card', 'link'],
      })
      if (!setup.client_secret) throw new Error('Stripe returned a setup without a secret')
      return { clientSecret: setup.client_secret }
    },
    finishSetup: async (customerId, clientSecret) => {
      const [id = ''] = clientSecret.split('_secret_')
      const setup = await stripe.setupIntents.retrieve(id, { expand: ['payment_method'] }).catch(orNotFound)
      const customer = typeof setup.customer === 'string' ? setup.customer : setup.customer?.id
      if (customer !== customerId || setup.client_secret !== clientSecret) throw notFound('Card form')
      const method = setup.payment_method
      if (setup.status !== 'succeeded' || !method || typeof method === 'string')
        throw refuse(
          'CARD_NOT_SET_UP',
          setup.last_setup_error?.message ?? 'The card was not confirmed. Please enter it again.',
        )
      return paymentMethodOf(method)
    },
    deleteMethod: async (id) => {
      await stripe.paymentMethods.detach(id).catch((error: unknown) => {
        if (!isMissing(error)) throw error
      })
    },
    charge: async ({ key, customerId, paymentMethodId, amountCents, description }) => {
      const create = stripe.paymentIntents.create(
        {
          amount: amountCents,
          currency: 'usd',
          customer: customerId,
          payment_method: paymentMethodId,
          allowed_payment_method_types: ['card', 'link'],
          off_session: true,
          confirm: true,
          description,
          metadata: { charge: key },
        },
        { idempotencyKey: key },
      )
      return await create.then(outcomeOf, failureOf)
    },
  }
}

/** Returns the outcome of a payment. @throws Error while the payment is being processed */
export function outcomeOf(intent: Stripe.PaymentIntent): ChargeOutcome {
  if (intent.status === 'succeeded') return { status: 'succeeded', providerId: intent.id }
  if (intent.status === 'processing') throw new Error(`Payment ${intent.id} is still being processed`)
  const { code = intent.status, message = 'Your card was declined.' } = intent.last_payment_error ?? {}
  return { status: 'failed', providerId: intent.id, code, message }
}

/**
 * Returns the outcome for a declined card or a payment method that no longer exists.
 * @throws the error otherwise, because the outcome is unknown
 */
function failureOf(error: unknown): ChargeOutcome {
  if (!(error instanceof Stripe.errors.StripeError)) throw error
  const isFinal = error instanceof Stripe.errors.StripeCardError || isMissing(error)
  if (!isFinal) throw error
  return {
    status: 'failed',
    providerId: error.payment_intent?.id ?? null,
    code: error.decline_code ?? error.code ?? 'card_declined',
    message: error.message,
  }
}

const isMissing = (error: unknown) =>
  error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing'

function orNotFound(error: unknown): never {
  if (isMissing(error)) throw notFound('Card form')
  throw error
}

const paymentMethodOf = ({ id, card, link }: Stripe.PaymentMethod): PaymentMethod => ({
  id,
  card: card ? { last4: card.last4, exp_month: card.exp_month, exp_year: card.exp_year } : null,
  link: link?.email ? { email: link.email } : null,
})
