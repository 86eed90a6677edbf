import type { App } from '../../../app.ts'
import { externalServices } from '../../../config/external-services.ts'
import type { PaymentProvider } from './provider.ts'
import { createStripeProvider, type StripeSettings } from './stripe-provider.ts'
import { createTestProvider } from './test-provider.ts'

/** Stripe's API keys, and the secret with which Stripe signs events. */
export type StripeKeys = StripeSettings & { webhookSecret: string }

/** Returns Stripe's keys from the settings; null if none is set. @throws Error when only some of the three are set */
export function stripeKeysOf({ config, external }: Pick<App, 'config' | 'external'>): StripeKeys | null {
  const secretKey = config.SHOAL_STRIPE_SECRET_KEY
  const publishableKey = config.SHOAL_STRIPE_PUBLISHABLE_KEY
  const webhookSecret = config.SHOAL_STRIPE_WEBHOOK_SECRET
  if (!secretKey && !publishableKey && !webhookSecret) return null
  if (!secretKey || !publishableKey || !webhookSecret)
    throw new Error(
      'Set all three of SHOAL_STRIPE_SECRET_KEY, SHOAL_STRIPE_PUBLISHABLE_KEY and SHOAL_STRIPE_WEBHOOK_SECRET, or none of them.',
    )
  return { secretKey, publishableKey, webhookSecret, url: external?.stripeUrl ?? externalServices.stripeUrl }
}

/** Returns Stripe if its keys are set, the test provider otherwise. */
export function providerOf(app: App): PaymentProvider {
  const keys = stripeKeysOf(app)
  return keys ? createStripeProvider(keys) : createTestProvider(app)
}
