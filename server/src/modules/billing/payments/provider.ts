import type { PaymentMethod } from '@shoal/contract'

/** A service that charges customers: Stripe if its keys are set, otherwise the test provider. One suite tests both. */
export type PaymentProvider = {
  name: 'stripe' | 'test'
  /** Stripe's key for its form in the browser; null for the test provider, whose form is part of the console. */
  publishableKey: string | null
  /** Creates the customer of an organization at the provider, and returns the customer's id. Idempotent. */
  createCustomer: (org: Customer) => Promise<string>
  /** Returns the secret with which the form in the browser sets up a payment method. */
  startSetup: (customerId: string) => Promise<{ clientSecret: string }>
  /**
   * Reads the result of the setup from the provider, because the browser is not trusted.
   * @throws Refusal 404 for an unknown setup or that of another customer; 405 with the provider's message when it did not
   * succeed
   */
  finishSetup: (customerId: string, clientSecret: string) => Promise<PaymentMethod>
  /** Deletes the payment method at the provider. Idempotent. */
  deleteMethod: (paymentMethodId: string) => Promise<void>
  /**
   * Charges a payment method off-session. Repeated calls with the same key charge only once and return the same outcome.
   * @throws Error when the outcome is unknown; the caller must retry with the same key
   */
  charge: (charge: ChargeRequest) => Promise<ChargeOutcome>
}

/** The organization of a customer at the provider. */
export type Customer = { orgId: number; code: string; name: string; email: string | null }

/** A payment to collect. `key` is the idempotency key. */
export type ChargeRequest = {
  key: string
  customerId: string
  paymentMethodId: string
  amountCents: number
  description: string
}

/** The final outcome of a charge. `providerId`: the id of the payment at the provider. */
export type ChargeOutcome =
  | { status: 'succeeded'; providerId: string }
  /** `message` is shown to the customer. */
  | { status: 'failed'; providerId: string | null; code: string; message: string }
