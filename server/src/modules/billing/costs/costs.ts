import type { BillingSummary, Receipt, SquidCost } from '@shoal/contract'
import { Big } from 'big.js'
import { monthOf } from '../../../clock.ts'
import type { App } from '../../../app.ts'
import { getOrg } from '../../orgs/index.ts'
import { selectBilledDatabases, selectRunning } from '../metering/meter-store.ts'
import { billableResources, usageSoFar } from '../metering/meter.ts'
import type { ObservedResource } from '../metering/spans.ts'
import { accountOf, listUnpaid } from '../payments/payment-store.ts'
import type { PriceBook } from '../prices/price-book.ts'
import { termsOf } from '../receipts/months.ts'
import { sum, type DayUsage } from '../receipts/rate.ts'
import { netOf, receiptOf } from '../receipts/receipt.ts'
import { costPerHour, forecastUsage } from './forecast.ts'

/** An organization's costs of the current month. All amounts include its discount and exclude tax. */
export type Costs = {
  month: string
  soFar: Receipt
  forecast: Receipt
  /** The usage so far. */
  usage: DayUsage[]
  /** The resources that are running or stored now. */
  observed: ObservedResource[]
  /** Returns the costs of the resources per hour in dollars. */
  perHourOf: (resources: readonly ObservedResource[]) => Big
  /** Returns the receipt for the usage up to and including `day`. */
  receiptUntil: (day: string) => Receipt
}

/** Returns an organization's costs of the current month: so far, and as a forecast. */
export async function costsOf(app: App, book: PriceBook, orgId: number): Promise<Costs> {
  const nowMs = app.clock.now().getTime()
  const month = monthOf(nowMs)
  const [terms, usage, running, databases] = await Promise.all([
    termsOf(app, orgId),
    usageSoFar(app, orgId, month),
    selectRunning(app.db, orgId),
    selectBilledDatabases(app.db, orgId),
  ])
  const observed = billableResources(running, databases)
  const receipt = (rows: DayUsage[]) => receiptOf({ book, month, usage: rows, ...terms })
  const payableShare = new Big(100).minus(terms.discountPercent).div(100)
  return {
    month,
    usage,
    observed,
    soFar: receipt(usage),
    forecast: receipt([...usage, ...forecastUsage(observed, usage, nowMs)]),
    perHourOf: (resources) => costPerHour(book, resources, nowMs).times(payableShare),
    receiptUntil: (day) => receipt(usage.filter((row) => row.day <= day)),
  }
}

/** Returns the costs of an organization and its versions, and the state of its payments. */
export async function summaryOf(app: App, book: PriceBook, orgId: number): Promise<BillingSummary> {
  const [costs, org, account, unpaid] = await Promise.all([
    costsOf(app, book, orgId),
    getOrg(app.db, orgId),
    accountOf(app.db, orgId),
    listUnpaid(app.db, orgId),
  ])
  const squids = new Map(costs.forecast.items.map((item) => [item.squid?.id ?? null, item.squid]))
  return {
    month: costs.month,
    ...totalsOf(costs),
    squids: [...squids.values()]
      .map((squid) => ({ squid, ...costOfSquid(costs, squid?.id ?? null) }))
      .sort((a, b) => new Big(b.forecastUsd).cmp(a.forecastUsd)),
    daily: dailyOf(costs, app.clock.now()),
    status: org.status,
    unpaidUsd: sum(unpaid.map((invoice) => new Big(invoice.totalUsd))).toFixed(2),
    nextRetryAt: account.nextRetryAt?.toISOString() ?? null,
  }
}

/** Returns the costs of one version in the current month. */
export async function squidCostOf(
  app: App,
  book: PriceBook,
  orgId: number,
  squid: { id: number; name: string },
): Promise<SquidCost> {
  const costs = await costsOf(app, book, orgId)
  return { month: costs.month, squid, ...costOfSquid(costs, squid.id) }
}

const totalsOf = (costs: Costs) => ({
  soFarUsd: netOf(costs.soFar).round(8).toFixed(),
  forecastUsd: netOf(costs.forecast).round(8).toFixed(),
  perHourUsd: costs.perHourOf(costs.observed).round(8).toFixed(),
})

const costOfSquid = (costs: Costs, squidId: number | null) => ({
  soFarUsd: netOfSquid(costs.soFar, squidId),
  forecastUsd: netOfSquid(costs.forecast, squidId),
  perHourUsd: costs
    .perHourOf(costs.observed.filter((s) => s.squidId === squidId))
    .round(8)
    .toFixed(),
})

const netOfSquid = (receipt: Receipt, squidId: number | null): string =>
  sum(
    receipt.items
      .filter((item) => (item.squid?.id ?? null) === squidId)
      .map((item) => new Big(item.subtotal).minus(item.discount)),
  ).toFixed()

/**
 * Returns how much each day increased the net amount. Thus the discount for included RPC requests reduces the costs of the days
 * on which the requests were made.
 */
function dailyOf(costs: Costs, now: Date): BillingSummary['daily'] {
  const daily: BillingSummary['daily'] = []
  let before = new Big(0)
  for (let date = 1; date <= now.getUTCDate(); date++) {
    const day = `${costs.month}-${String(date).padStart(2, '0')}`
    const net = netOf(costs.receiptUntil(day))
    daily.push({ day, amountUsd: net.minus(before).toFixed() })
    before = net
  }
  return daily
}
