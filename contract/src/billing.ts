import { z } from 'zod'
import { BillingLimitsUsage, BillingSummary, CostEstimate, PriceList, SquidCost, atCapActions } from './costs.ts'
import { endpoint } from './endpoint.ts'
import { orgStatuses } from './org-status.ts'
import { BillingDetails } from './orgs.ts'
import { BillingDetailsForm, BillingSettings, PaymentMethod, PaymentMethods, TestCard } from './payments.ts'
import { InvoiceRow, Receipt } from './receipts.ts'

// These functions are in separate files, so that pages that only show a receipt do not load zod.
export { billableLabel, billableOf, pricedPrograms, type Billable } from './billable.ts'
export { countryCodes } from './countries.ts'
export { csvOf } from './csv.ts'
export { allMonthsCsv, monthCsv } from './receipt-csv.ts'

const billingPath = <const P extends string>(path: P) => `/v1/orgs/{code}/billing${path}` as const

export const billing = {
  getSettings: endpoint({
    method: 'GET',
    path: billingPath('/settings'),
    access: 'billing.write',
    scope: 'admin',
    summary: 'Saved payment methods, and the parameters of the card form',
    payload: BillingSettings,
  }),
  updateSettings: endpoint({
    method: 'PUT',
    path: billingPath('/settings'),
    access: 'billing.write',
    scope: 'admin',
    summary: 'Change the billing details on receipts',
    body: BillingDetailsForm,
    payload: BillingDetails,
  }),
  enterTestCard: endpoint({
    method: 'POST',
    path: billingPath('/test-card'),
    access: 'billing.write',
    scope: 'admin',
    summary: "Enter a card of the test provider, whose form replaces Stripe's",
    body: TestCard,
    payload: z.object({
      status: z.enum(['succeeded', 'requires_action', 'requires_payment_method']),
      error: z.string().nullable(),
    }),
    rateLimit: { calls: 60, perMs: 3_600_000 },
  }),
  addPaymentMethod: endpoint({
    method: 'POST',
    path: billingPath('/payment-methods'),
    access: 'billing.write',
    scope: 'admin',
    summary: 'Save the payment method that the form has set up, charge the amount due and activate the organization',
    body: z.object({
      clientSecret: z.string().min(1).max(500),
      /** The id of the payment method that the new one replaces. It is then deleted. */
      replaces: z.string().max(200).optional(),
    }),
    payload: PaymentMethods,
    rateLimit: { calls: 60, perMs: 3_600_000 },
  }),
  makeDefaultPaymentMethod: endpoint({
    method: 'PUT',
    path: billingPath('/payment-methods/{id}/default'),
    access: 'billing.write',
    scope: 'admin',
    summary: 'Make this payment method the default, and charge the amount due immediately',
    payload: PaymentMethods,
    rateLimit: { calls: 60, perMs: 3_600_000 },
  }),
  removePaymentMethod: endpoint({
    method: 'DELETE',
    path: billingPath('/payment-methods/{id}'),
    access: 'billing.write',
    scope: 'admin',
    summary: 'Delete a payment method, except the last one of an organization that is billed',
    payload: z.object({ existing: z.array(PaymentMethod) }),
  }),
  pay: endpoint({
    method: 'POST',
    path: billingPath('/pay'),
    access: 'billing.write',
    scope: 'admin',
    summary: 'Charge the amount due now instead of at the next retry',
    payload: z.object({ status: z.enum(orgStatuses), error: z.string().nullable() }),
    rateLimit: { calls: 20, perMs: 3_600_000 },
  }),
  getReceipt: endpoint({
    method: 'GET',
    path: billingPath('/receipts/{year}/{month}'),
    access: 'member',
    scope: 'read',
    summary: 'Cost of a calendar month (UTC), or of the current month to date',
    query: { bySquid: z.enum(['true', 'false', '1', '0', '']).optional() },
    payload: Receipt,
  }),
  exportReceipts: endpoint({
    method: 'GET',
    path: billingPath('/receipts'),
    access: 'member',
    scope: 'read',
    kind: 'file',
    summary: 'The receipts of all months by squid as one CSV file, newest month first',
    payload: z.null(),
  }),
  listInvoices: endpoint({
    method: 'GET',
    path: billingPath('/invoices'),
    access: 'member',
    scope: 'read',
    summary: 'Invoices of closed months, newest first',
    payload: z.array(InvoiceRow),
  }),
  getInvoice: endpoint({
    method: 'GET',
    path: billingPath('/receipts/{year}/{month}/invoice'),
    access: 'member',
    scope: 'read',
    kind: 'file',
    summary: 'The invoice of a closed month as PDF',
    payload: z.null(),
  }),
  getSummary: endpoint({
    method: 'GET',
    path: billingPath('/summary'),
    access: 'member',
    scope: 'read',
    summary: 'Costs of the current month: to date, forecast, by squid and by day',
    payload: BillingSummary,
  }),
  getSquidCost: endpoint({
    method: 'GET',
    path: billingPath('/squids/{reference}'),
    access: 'member',
    scope: 'read',
    summary: 'Cost of one version this month, to date and forecast',
    payload: SquidCost,
  }),
  estimate: endpoint({
    method: 'POST',
    path: billingPath('/estimate'),
    access: 'member',
    scope: 'read',
    summary: 'Estimated cost of a squid with this manifest; changes nothing',
    isChange: false,
    body: z.object({ manifest: z.string().max(200_000) }),
    payload: CostEstimate,
  }),
  getLimits: endpoint({
    method: 'GET',
    path: billingPath('/limits'),
    access: 'member',
    scope: 'read',
    summary: 'Monthly caps and their usage',
    payload: BillingLimitsUsage,
  }),
  updateLimits: endpoint({
    method: 'PUT',
    path: billingPath('/limits'),
    access: 'billing.write',
    scope: 'admin',
    summary: 'Change the caps; they take effect within a minute',
    body: z.object({
      spendCapUsd: z
        .string()
        .regex(/^\d{1,7}(\.\d{1,2})?$/, 'An amount in dollars, as in 100 or 99.50')
        .nullable(),
      atCap: z.enum(atCapActions),
      /** Names of squids, in the order in which they are hibernated at the cap. */
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
