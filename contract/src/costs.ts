import { z } from 'zod'
import { Time } from './fields.ts'
import { orgStatuses } from './org-status.ts'
import { Decimal, Month, SquidRef } from './receipts.ts'

export const atCapActions = ['stop_deploys', 'hibernate'] as const

export const BillingLimits = z.object({
  /** The maximum cost of a calendar month, before tax; null: no cap. */
  spendCapUsd: Decimal.nullable(),
  atCap: z.enum(atCapActions),
  /** Names of squids, in the order in which they are hibernated. Squids that are not listed follow, those with tagged versions last. */
  hibernateOrder: z.array(z.string()),
  /** Requests in a calendar month; null: no cap. */
  rpcRequestsCap: z.number().int().nullable(),
})
export type BillingLimits = z.infer<typeof BillingLimits>

export const BillingLimitsUsage = BillingLimits.extend({
  spentUsd: Decimal,
  rpcRequests: z.number(),
  /** The end of the month while the cap stops new deploys; otherwise null. */
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
  month: Month,
  /** `squid` is null for the cost of RPC requests that no squid made. */
  squids: z.array(Cost.extend({ squid: SquidRef.nullable() })),
  /** One entry for each day of the month up to today, in UTC. */
  daily: z.array(z.object({ day: z.iso.date(), amountUsd: Decimal })),
  status: z.enum(orgStatuses),
  /** The amount due. */
  unpaidUsd: Decimal,
  /** When a failed charge is retried; null if no retry is planned. */
  nextRetryAt: Time.nullable(),
})
export type BillingSummary = z.infer<typeof BillingSummary>

export const SquidCost = Cost.extend({ month: Month, squid: SquidRef })
export type SquidCost = z.infer<typeof SquidCost>

export const CostEstimate = z.object({
  items: z.array(
    z.object({
      type: z.string(),
      /** Number of replicas, processors or GB. */
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
  /** 720, the basis of monthly prices. */
  hoursPerMonth: z.number(),
})
export type CostEstimate = z.infer<typeof CostEstimate>

export const PriceList = z.object({
  from: z.iso.date(),
  /** Per hour for programs (`api.small`), per GB-hour for `storage`, per million requests for `rpc`. */
  rates: z.array(z.object({ type: z.string(), rateUsd: Decimal })),
  storageGbMonthUsd: Decimal,
  rpcIncludedMillions: Decimal,
})
