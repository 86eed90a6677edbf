import type { Big } from 'big.js'
import type { ObservedResource } from '../metering/spans.ts'
import { listAt, priceOf, type PriceBook } from '../prices/price-book.ts'
import { costOf, sum, type DayUsage } from '../receipts/rate.ts'
import { dayOfMs, monthEndMs, monthOfMs, monthStartMs, msPerHour } from '../time.ts'

const msPerDay = 24 * msPerHour

/** What there will be until the month ends if what is seen goes on, and requests go on as they did this month. */
export function forecastUsage(
  seen: readonly ObservedResource[],
  soFar: readonly DayUsage[],
  nowMs: number,
): DayUsage[] {
  const endMs = monthEndMs(monthOfMs(nowMs))
  const come: DayUsage[] = []
  for (let fromMs = nowMs; fromMs < endMs; fromMs = nextDayMs(fromMs)) {
    const ms = Math.min(endMs, nextDayMs(fromMs)) - fromMs
    for (const { type, squidId, squidName, size } of seen)
      come.push({ day: dayOfMs(fromMs), type, squidId, squidName, quantity: BigInt(size) * BigInt(ms) })
  }
  const goneMs = nowMs - monthStartMs(monthOfMs(nowMs))
  // The first hours of a month say nothing about the rest of it.
  if (goneMs < msPerHour) return come
  for (const row of soFar)
    if (row.type === 'rpc')
      come.push({
        ...row,
        day: dayOfMs(endMs - 1),
        quantity: (row.quantity * BigInt(endMs - nowMs)) / BigInt(goneMs),
      })
  return come
}

const nextDayMs = (ms: number) => (Math.floor(ms / msPerDay) + 1) * msPerDay

/** Dollars an hour of what is seen, at the prices of `atMs`; before discounts. */
export function perHour(book: PriceBook, seen: readonly Pick<ObservedResource, 'type' | 'size'>[], atMs: number): Big {
  const list = listAt(book, atMs)
  return sum(seen.map(({ type, size }) => costOf(BigInt(size) * BigInt(msPerHour), priceOf(list, type))))
}
