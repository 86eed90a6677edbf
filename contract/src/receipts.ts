import { z } from 'zod'
import { Time } from './fields.ts'

/** A decimal string, since floats are inexact. Money is in US dollars. */
export const Decimal = z.string().regex(/^-?\d+(\.\d+)?$/)

/** `yyyy-MM`, in UTC. */
export const Month = z.string().regex(/^\d{4}-\d{2}$/)

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
  /**
   * The version that caused the cost; its `name` has the form `name@slot`. Null if the call does not set `bySquid` (`billing.getReceipt`), and
   * for RPC requests that no squid made.
   */
  squid: SquidRef.nullable(),
})
export type ReceiptItem = z.infer<typeof ReceiptItem>

export const Receipt = z.object({
  month: Month,
  /** Sorted by descending subtotal. */
  items: z.array(ReceiptItem),
  /** The sum of the items' `subtotal`, before discounts; spelt as in spec 3. */
  subTotal: Decimal,
  /** `amount`: in dollars, unlike the `amount` of items. `rpc_included`: the free RPC requests of each month. */
  discounts: z.array(z.object({ type: z.enum(['organization', 'rpc_included']), percent: Decimal, amount: Decimal })),
  /** `amount`: in dollars. */
  tax: z.object({ percent: Decimal, amount: Decimal }),
  total: Decimal,
  /** False until the month is closed, at least an hour after its end. Afterwards only `invoice.status` changes. */
  isClosed: z.boolean(),
  /** Null until the month is closed. */
  invoice: z.object({ number: z.string(), status: z.enum(['open', 'paid']), closedAt: Time }).nullable(),
})
export type Receipt = z.infer<typeof Receipt>

export const InvoiceRow = z.object({
  month: Month,
  number: z.string(),
  totalUsd: Decimal,
  status: z.enum(['open', 'paid']),
  closedAt: Time,
})
