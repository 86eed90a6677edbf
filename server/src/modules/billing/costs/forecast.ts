import type { Big } from 'big.js'
import { dayOf, monthOf } from '../../../clock.ts'
import type { ObservedResource } from '../metering/spans.ts'
import { listAt, priceOf, type PriceBook } from '../prices/price-book.ts'
import { costOf, sum, type DayUsage } from '../receipts/rate.ts'
import { monthEndMs, monthStartMs, msPerHour } from '../time.ts'

const msPerDay = 24 * msPerHour

/**
 * Forecasts usage until the end of the month, assuming that the observed resources remain and requests continue at this month's
 * rate.
 */
export function forecastUsage(
  observed: readonly ObservedResource[],
  soFar: readonly DayUsage[],
  nowMs: number,
): DayUsage[] {
  const endMs = monthEndMs(monthOf(nowMs))
  const forecast: DayUsage[] = []
  for (let fromMs = nowMs; fromMs < endMs; fromMs = nextDayMs(fromMs)) {
    const ms = Math.min(endMs, nextDayMs(fromMs)) - fromMs
    for (const { type, squidId, squidName, size } of observed)
      forecast.push({ day: dayOf(fromMs), type, squidId, squidName, quantity: BigInt(size) * BigInt(ms) })
  }
  const elapsedMs = nowMs - monthStartMs(monthOf(nowMs))
  // Less than an hour of data is too little to forecast requests.
  if (elapsedMs < msPerHour) return forecast
  for (const row of soFar)
    if (row.type === 'rpc')
      forecast.push({
        ...row,
        day: dayOf(endMs - 1),
        quantity: (row.quantity * BigInt(endMs - nowMs)) / BigInt(elapsedMs),
      })
  return forecast
}

const nextDayMs = (ms: number) => (Math.floor(ms / msPerDay) + 1) * msPerDay

/** Returns the resources' costs in dollars per hour, at the prices of `atMs` and before discounts. */
export function costPerHour(
  book: PriceBook,
  observed: readonly Pick<ObservedResource, 'type' | 'size'>[],
  atMs: number,
): Big {
  const list = listAt(book, atMs)
  return sum(observed.map(({ type, size }) => costOf(BigInt(size) * BigInt(msPerHour), priceOf(list, type))))
}
