import { Big } from 'big.js'
import type { App } from '../../../app.ts'
import { monthOf } from '../../../clock.ts'
import { usageSoFarByOrg } from '../metering/meter.ts'
import { listDiscounts } from '../payments/payment-store.ts'
import { readPriceBook } from '../prices/price-book.ts'
import type { DayUsage } from '../receipts/rate.ts'
import { netOf, receiptOf } from '../receipts/receipt.ts'

/**
 * Returns this month's cost so far of every organization with usage, in dollars without tax, by the organization's id. Reads all
 * usage records of the month, so callers must cache the result.
 */
export async function costsByOrg(app: Pick<App, 'clock' | 'config' | 'db'>): Promise<Map<number, number>> {
  const book = readPriceBook(app.config)
  const month = monthOf(app.clock.now().getTime())
  const [usage, discounts] = await Promise.all([usageSoFarByOrg(app), listDiscounts(app.db)])
  const usageByOrg = Map.groupBy(usage, ({ orgId }) => orgId)
  const costOf = (orgId: number, rows: DayUsage[]) => {
    const discountPercent = new Big(discounts.get(orgId) ?? 0)
    return netOf(receiptOf({ book, month, usage: rows, discountPercent, country: null }))
      .round(2)
      .toNumber()
  }
  return new Map([...usageByOrg].map(([orgId, rows]) => [orgId, costOf(orgId, rows)]))
}
