import type { PaymentMethod } from '@shoal/contract'

/** Moves the money: `stripe` when keys are set, else a test provider; one test suite holds both to the same behaviour. */
export type PaymentProvider = {
  name: 'stripe' | 'test'
  /** For the form in the browser; null when the form is ours. */
  publishableKey: string | null
  /** Idempotent: an organization has one customer. */
  createCustomer: (org: Customer) => Promise<string>
  /** Returns what the form in the browser needs to set up a payment method. */
  startSetup: (customerId: string) => Promise<{ clientSecret: string }>
  /**
   * Reads the result of the set-up from the provider: the browser is not trusted.
   * @throws Refusal 405 with the provider's message when it did not succeed, or belongs to another customer
   */
  finishSetup: (customerId: string, clientSecret: string) => Promise<PaymentMethod>
  /** Idempotent. */
  deleteMethod: (paymentMethodId: string) => Promise<void>
  /**
   * Charges without the customer being present. A repeated key charges once and returns the same outcome.
   * @throws Error when the outcome is unknown: retry with the same key
   */
  charge: (charge: ChargeRequest) => Promise<ChargeOutcome>
}

export type Customer = { orgId: number; code: string; name: string; email: string | null }

export type ChargeRequest = {
  key: string
  customerId: string
  paymentMethodId: string
  amountCents: number
  description: string
}

export type ChargeOutcome =
  | { status: 'succeeded'; providerId: string }
  /** `message` is for the customer. */
  | { status: 'failed'; providerId: string | null; code: string; message: string }
