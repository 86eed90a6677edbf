import { z } from 'zod'
import { countryCodes } from './countries.ts'
import { endpoint } from './endpoint.ts'
import { RequiredText, Time } from './fields.ts'
import { BillingDetails } from './orgs.ts'
import { orgStatuses } from './org-status.ts'

// In separate files, so that pages that only show a receipt do not load zod.
export { billableLabel, billableOf, offeredPrograms, type Billable } from './billable.ts'
export { countryCodes } from './countries.ts'
export { csvOf } from './csv.ts'
export { receiptCsv, receiptsCsv } from './receipt-csv.ts'

/** Money and amounts are decimal strings, never floats; money is in US dollars. */
export const Decimal = z.string().regex(/^-?\d+(\.\d+)?$/)

const MonthParams = {
  /** `yyyy-MM` */
  month: z.string().regex(/^\d{4}-\d{2}$/),
}

export const SquidRef = z.object({ id: z.number(), name: z.string() })

export const ReceiptItem = z.object({
  /** The resource: `api.small`, `storage`, `rpc`; see `billableOf` and `billableLabel`. */
  type: z.string(),
  /** Hours, GB-hours or millions of requests; at most 8 fraction digits. */
  amount: Decimal,
  /** Price of one unit of `amount`. */
  rate: Decimal,
  /** Before discounts. */
  subtotal: Decimal,
  /** This item's share of the receipt's discounts. */
  discount: Decimal,
  /** Its name is `name@slot`. Null without `bySquid`, and for requests not made by a squid. */
  squid: SquidRef.nullable(),
})
export type ReceiptItem = z.infer<typeof ReceiptItem>

export const Receipt = z.object({
  ...MonthParams,
  /** Sorted by descending subtotal. */
  items: z.array(ReceiptItem),
  subTotal: Decimal,
  discounts: z.array(z.object({ type: z.enum(['organization', 'rpc_included']), percent: Decimal, amount: Decimal })),
  tax: z.object({ percent: Decimal, amount: Decimal }),
  total: Decimal,
  /** False for the current month, which still changes; the receipt of a closed month never does. */
  isClosed: z.boolean(),
  /** Null until the month is closed. */
  invoice: z.object({ number: z.string(), status: z.enum(['open', 'paid']), closedAt: Time }).nullable(),
})
export type Receipt = z.infer<typeof Receipt>

export const PaymentMethod = z.object({
  id: z.string(),
  card: z.object({ last4: z.string(), exp_month: z.number(), exp_year: z.number() }).nullable(),
  link: z.object({ email: z.string() }).nullable(),
})
export type PaymentMethod = z.infer<typeof PaymentMethod>

export const BillingSettings = z.object({
  /** `test`: no real charges; Stripe's test card numbers determine the result. */
  provider: z.enum(['stripe', 'test']),
  /** For Stripe's own form; null with the test provider. */
  publishableKey: z.string().nullable(),
  create: z.object({ clientSecret: z.string() }),
  /** The first is the default, which is charged. */
  existing: z.array(PaymentMethod),
})
export type BillingSettings = z.infer<typeof BillingSettings>

const PaymentMethods = z.object({ status: z.enum(orgStatuses), existing: z.array(PaymentMethod) })

/** The form of billing details (spec 5). */
export const BillingDetailsForm = z.object({
  name: RequiredText('Name is required').max(200),
  email: RequiredText('Email is required').max(254).pipe(z.email('Must be valid email')),
  /** Two letters, ISO 3166-1. */
  country: RequiredText('Country is required')
    .transform((country) => country.toUpperCase())
    .pipe(z.string().refine((country) => countryCodes.includes(country), 'Country must be one of ISO 3166-1')),
  city: RequiredText('City is required').max(200),
  postalCode: RequiredText('ZIP code is required').max(20),
  addressLine1: RequiredText('Address is required').max(200),
  vatId: z.string().trim().max(50).nullish(),
})

/** Sent by the card form that replaces Stripe's with the test provider. */
export const TestCard = z.object({
  clientSecret: z.string(),
  number: z
    .string()
    .transform((number) => number.replaceAll(/\s/g, ''))
    .pipe(z.string().regex(/^\d{12,19}$/, 'Your card number is incomplete.')),
  expMonth: z.number().int().min(1).max(12),
  expYear: z.number().int().min(2000).max(2100),
  cvc: z.string().regex(/^\d{3,4}$/, "Your card's security code is incomplete."),
  /** The result of the bank's authentication; omitted in the first request. */
  authentication: z.enum(['complete', 'fail']).optional(),
})

export const atCapActions = ['stop_deploys', 'hibernate'] as const

export const BillingLimits = z.object({
  /** For a calendar month, before tax; null: no cap. */
  spendCapUsd: Decimal.nullable(),
  atCap: z.enum(atCapActions),
  /** Names of squids in the order of hibernation; squids not listed follow, versions with tags last. */
  hibernateOrder: z.array(z.string()),
  /** Requests in a calendar month; null: no cap. */
  rpcRequestsCap: z.number().int().nullable(),
})
export type BillingLimits = z.infer<typeof BillingLimits>

export const BillingLimitsUsage = BillingLimits.extend({
  spentUsd: Decimal,
  rpcRequests: z.number(),
  /** Set while the cap stops new deploys: the end of the month. */
  deploysStoppedUntil: Time.nullable(),
  hibernatedByCap: z.array(SquidRef),
})
export type BillingLimitsUsage = z.infer<typeof BillingLimitsUsage>

const Cost = z.object({
  /** After discounts, before tax. */
  soFarUsd: Decimal,
  /** Expected at the end of the month, at the current rate. */
  forecastUsd: Decimal,
  /** Current cost of everything that is running. */
  perHourUsd: Decimal,
})

export const BillingSummary = Cost.extend({
  ...MonthParams,
  squids: z.array(Cost.extend({ squid: SquidRef.nullable() })),
  /** Every day of the month up to today, UTC. */
  daily: z.array(z.object({ day: z.iso.date(), amountUsd: Decimal })),
  status: z.enum(orgStatuses),
  /** Due and not yet paid. */
  unpaidUsd: Decimal,
  /** When a failed charge is retried. */
  nextRetryAt: Time.nullable(),
})
export type BillingSummary = z.infer<typeof BillingSummary>

export const SquidCost = Cost.extend({ ...MonthParams, squid: SquidRef })
export type SquidCost = z.infer<typeof SquidCost>

export const CostEstimate = z.object({
  items: z.array(
    z.object({
      type: z.string(),
      /** Replicas, processors, GB. */
      count: Decimal,
      perHourUsd: Decimal,
      perMonthUsd: Decimal,
    }),
  ),
  /** The organization's discount. */
  discountPercent: Decimal,
  /** Sum of all items, after the discount and before tax. */
  perHourUsd: Decimal,
  perMonthUsd: Decimal,
  /** 720, as in monthly prices. */
  hoursPerMonth: z.number(),
})
export type CostEstimate = z.infer<typeof CostEstimate>

export const PriceList = z.object({
  from: z.iso.date(),
  /** Per hour for programs (`api.small`), per GB and hour for `storage`, per million requests for `rpc`. */
  rates: z.array(z.object({ type: z.string(), rateUsd: Decimal })),
  storageGbMonthUsd: Decimal,
  rpcIncludedMillions: Decimal,
})

export const InvoiceRow = z.object({
  ...MonthParams,
  number: z.string(),
  totalUsd: Decimal,
  status: z.enum(['open', 'paid']),
  closedAt: Time,
})

const at = <const P extends string>(path: P) => `/v1/orgs/{code}/billing${path}` as const

export const billing = {
  getSettings: endpoint({
    method: 'GET',
    path: at('/settings'),
    access: 'billing.write',
    summary: 'Saved payment methods, and the parameters of the card form',
    payload: BillingSettings,
  }),
  updateSettings: endpoint({
    method: 'PUT',
    path: at('/settings'),
    access: 'billing.write',
    summary: 'Change the billing details on receipts',
    body: BillingDetailsForm,
    payload: BillingDetails,
  }),
  enterTestCard: endpoint({
    method: 'POST',
    path: at('/test-card'),
    access: 'billing.write',
    summary: "Test provider only: replaces Stripe's form in the browser",
    body: TestCard,
    payload: z.object({
      status: z.enum(['succeeded', 'requires_action', 'requires_payment_method']),
      error: z.string().nullable(),
    }),
    rateLimit: { calls: 60, perMs: 3_600_000 },
  }),
  addPaymentMethod: endpoint({
    method: 'POST',
    path: at('/payment-methods'),
    access: 'billing.write',
    summary: 'Save the payment method that the form has set up, charge the amount due and activate the organization',
    body: z.object({
      clientSecret: z.string().min(1).max(500),
      /** The id of the payment method to delete in exchange. */
      replaces: z.string().max(200).optional(),
    }),
    payload: PaymentMethods,
    rateLimit: { calls: 60, perMs: 3_600_000 },
  }),
  makeDefaultPaymentMethod: endpoint({
    method: 'PUT',
    path: at('/payment-methods/{id}/default'),
    access: 'billing.write',
    summary: 'Make this payment method the default, and charge the amount due immediately',
    payload: PaymentMethods,
    rateLimit: { calls: 60, perMs: 3_600_000 },
  }),
  removePaymentMethod: endpoint({
    method: 'DELETE',
    path: at('/payment-methods/{id}'),
    access: 'billing.write',
    summary: 'Delete a payment method, except the last one of an organization that is billed',
    payload: z.object({ existing: z.array(PaymentMethod) }),
  }),
  pay: endpoint({
    method: 'POST',
    path: at('/pay'),
    access: 'billing.write',
    summary: 'Charge the amount due now instead of at the next retry',
    payload: z.object({ status: z.enum(orgStatuses), error: z.string().nullable() }),
    rateLimit: { calls: 20, perMs: 3_600_000 },
  }),
  getReceipt: endpoint({
    method: 'GET',
    path: at('/receipts/{year}/{month}'),
    access: 'member',
    summary: 'Cost of a calendar month (UTC); of the current month to date',
    query: { bySquid: z.enum(['true', 'false', '1', '0', '']).optional() },
    payload: Receipt,
  }),
  exportReceipts: endpoint({
    method: 'GET',
    path: at('/receipts'),
    access: 'member',
    kind: 'file',
    summary: 'The items of all months by squid as one CSV file, newest month first',
    payload: z.null(),
  }),
  listInvoices: endpoint({
    method: 'GET',
    path: at('/invoices'),
    access: 'member',
    summary: 'Invoices of closed months, newest first',
    payload: z.array(InvoiceRow),
  }),
  getInvoice: endpoint({
    method: 'GET',
    path: at('/receipts/{year}/{month}/invoice'),
    access: 'member',
    kind: 'file',
    summary: 'The invoice of a closed month as PDF',
    payload: z.null(),
  }),
  getSummary: endpoint({
    method: 'GET',
    path: at('/summary'),
    access: 'member',
    summary: 'The current month: to date, forecast, by squid, by day',
    payload: BillingSummary,
  }),
  getSquidCost: endpoint({
    method: 'GET',
    path: at('/squids/{reference}'),
    access: 'member',
    summary: 'Cost of one version this month, to date and forecast',
    payload: SquidCost,
  }),
  estimate: endpoint({
    method: 'POST',
    path: at('/estimate'),
    access: 'member',
    summary: 'Estimated cost of a squid with this manifest; changes nothing',
    isChange: false,
    body: z.object({ manifest: z.string().max(200_000) }),
    payload: CostEstimate,
  }),
  getLimits: endpoint({
    method: 'GET',
    path: at('/limits'),
    access: 'member',
    summary: 'Monthly caps and their usage',
    payload: BillingLimitsUsage,
  }),
  updateLimits: endpoint({
    method: 'PUT',
    path: at('/limits'),
    access: 'billing.write',
    summary: 'Change the caps; they take effect within a minute',
    body: z.object({
      spendCapUsd: z
        .string()
        .regex(/^\d{1,7}(\.\d{1,2})?$/, 'An amount in dollars, as in 100 or 99.50')
        .nullable(),
      atCap: z.enum(atCapActions),
      hibernateOrder: z.array(z.string().min(1).max(30)).max(200).default([]),
      rpcRequestsCap: z.number().int().min(0).max(1_000_000_000_000).nullable(),
    }),
    payload: BillingLimitsUsage,
  }),
  getPrices: endpoint({
    method: 'GET',
    path: '/v1/billing/prices',
    access: 'public',
    summary: 'Current and future price lists',
    payload: z.array(PriceList),
  }),
}
