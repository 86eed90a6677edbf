import type { PaymentMethod } from '@shoal/contract'

/** Who moves the money. `stripe` where keys are set, a test provider otherwise; one suite holds both to one behaviour. */
export type PaymentProvider = {
  name: 'stripe' | 'test'
  /** For the form in the browser; null where the form is our own. */
  publishableKey: string | null
  /** Twice with one organization is one customer. */
  createCustomer: (org: Customer) => Promise<string>
  /** What the form in the browser needs to set up a payment method. */
  startSetup: (customerId: string) => Promise<{ clientSecret: string }>
  /**
   * Reads from the provider how the set-up ended: nothing the browser says is believed.
   * @throws Refusal 405 in the words of the provider when it did not succeed, or is another customer's
   */
  finishSetup: (customerId: string, clientSecret: string) => Promise<PaymentMethod>
  /** Gone is fine. */
  deleteMethod: (paymentMethodId: string) => Promise<void>
  /**
   * Charges without the customer being there. The same key charges once and answers the same.
   * @throws Error when it is not known what happened: ask again with the same key
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
