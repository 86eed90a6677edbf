import type { Big } from 'big.js'
import type { ObservedResource } from '../metering/spans.ts'
import { listAt, priceOf, type PriceBook } from '../prices/price-book.ts'
import { costOf, sum, type DayUsage } from '../receipts/rate.ts'
import { dayOfMs, monthEndMs, monthOfMs, monthStartMs, msPerHour } from '../time.ts'

const msPerDay = 24 * msPerHour

/** Usage until the end of the month, if the observed resources keep running and requests continue at this month's rate. */
export function forecastUsage(
  observed: readonly ObservedResource[],
  soFar: readonly DayUsage[],
  nowMs: number,
): DayUsage[] {
  const endMs = monthEndMs(monthOfMs(nowMs))
  const forecast: DayUsage[] = []
  for (let fromMs = nowMs; fromMs < endMs; fromMs = nextDayMs(fromMs)) {
    const ms = Math.min(endMs, nextDayMs(fromMs)) - fromMs
    for (const { type, squidId, squidName, size } of observed)
      forecast.push({ day: dayOfMs(fromMs), type, squidId, squidName, quantity: BigInt(size) * BigInt(ms) })
  }
  const elapsedMs = nowMs - monthStartMs(monthOfMs(nowMs))
  // The first hour of a month is no basis for a forecast of requests.
  if (elapsedMs < msPerHour) return forecast
  for (const row of soFar)
    if (row.type === 'rpc')
      forecast.push({
        ...row,
        day: dayOfMs(endMs - 1),
        quantity: (row.quantity * BigInt(endMs - nowMs)) / BigInt(elapsedMs),
      })
  return forecast
}

const nextDayMs = (ms: number) => (Math.floor(ms / msPerDay) + 1) * msPerDay

/** Dollars per hour of the resources, at the prices of `atMs`; before discounts. */
export function perHour(
  book: PriceBook,
  observed: readonly Pick<ObservedResource, 'type' | 'size'>[],
  atMs: number,
): Big {
  const list = listAt(book, atMs)
  return sum(observed.map(({ type, size }) => costOf(BigInt(size) * BigInt(msPerHour), priceOf(list, type))))
}
