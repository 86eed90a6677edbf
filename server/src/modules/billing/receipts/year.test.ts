import { Big } from 'big.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { dayOf, monthOf } from '../../../clock.ts'
import { extendSpans, usageOfSpans, type ObservedResource, type Span } from '../metering/spans.ts'
import { readPriceBook } from '../prices/price-book.ts'
import { monthAfter, monthEndMs, monthStartMs, msPerHour } from '../time.ts'
import { mergeSquids, receiptOf } from './receipt.ts'
import type { DayUsage } from './rate.ts'

const book = readPriceBook({ SHOAL_PRICE_BOOK: undefined })
const yearStart = Date.parse('2026-01-01T00:00:00Z')

/** A resource that exists from one hour of the year until another. */
type Lifetime = { type: string; squidId: number; size: number; fromHour: number; toHour: number }
/** RPC requests of a squid in one hour. */
type Calls = { squidId: number; hour: number; requests: number }

const types = ['api.small', 'api.2xlarge', 'processor.medium', 'postgres.large', 'collocated', 'storage']
const hoursPerYear = 365 * 24

const sampleYear = (seed: number): { lifetimes: Lifetime[]; calls: Calls[] } => {
  const [first] = fc.sample(
    fc.record({
      lifetimes: fc.array(
        fc.record({
          type: fc.constantFrom(...types),
          squidId: fc.integer({ min: 1, max: 6 }),
          size: fc.integer({ min: 1, max: 40 }),
          fromHour: fc.integer({ min: 0, max: hoursPerYear - 1 }),
          toHour: fc.integer({ min: 0, max: hoursPerYear }),
        }),
        { minLength: 25, maxLength: 40 },
      ),
      calls: fc.array(
        fc.record({
          squidId: fc.integer({ min: 1, max: 3 }),
          hour: fc.integer({ min: 0, max: hoursPerYear - 1 }),
          requests: fc.integer({ min: 1, max: 900_000 }),
        }),
        { minLength: 200, maxLength: 200 },
      ),
    }),
    { numRuns: 1, seed },
  )
  if (!first) throw new Error('no sample')
  return first
}

/** Returns the usage of the year, metered every 20 minutes. */
function meterYear(lifetimes: Lifetime[], calls: Calls[]): DayUsage[] {
  const usage: DayUsage[] = []
  lifetimes.forEach((lifetime, i) => {
    let spans: Span[] = []
    const observed: ObservedResource = {
      orgId: 1,
      squidId: lifetime.squidId,
      squidName: `s${lifetime.squidId}@v1`,
      resource: `r${i}`,
      type: lifetime.type,
      size: lifetime.type === 'storage' ? lifetime.size * 2 ** 30 : 1,
      sinceMs: yearStart + lifetime.fromHour * msPerHour,
    }
    for (let ms = lifetime.fromHour * msPerHour; ms <= lifetime.toHour * msPerHour; ms += msPerHour / 3) {
      const at = yearStart + ms
      const [changed] = extendSpans(spans, [observed], at - msPerHour / 3, at)
      if (changed) spans = [changed]
    }
    for (const u of usageOfSpans(spans, 0, Infinity)) usage.push({ ...u, day: dayOf(u.hourMs) })
  })
  for (const { squidId, hour, requests } of calls)
    usage.push({
      day: dayOf(yearStart + hour * msPerHour),
      type: 'rpc',
      squidId,
      squidName: `s${squidId}@v1`,
      quantity: BigInt(requests),
    })
  return usage
}

/** The two price lists, written out in thousandths of a dollar per hour (storage: per GB and month). */
const pricesBeforeApril: Record<string, bigint> = {
  'api.small': 40n,
  'api.2xlarge': 600n,
  'processor.medium': 80n,
  'postgres.large': 330n,
  collocated: 20n,
  storage: 500n,
}
const pricesFromApril: Record<string, bigint> = {
  'api.small': 48n,
  'api.2xlarge': 720n,
  'processor.medium': 96n,
  'postgres.large': 396n,
  collocated: 24n,
  storage: 600n,
}
const firstHourOfApril = (31 + 28 + 31) * 24

/** Calculates the net amount and the tax of a receipt in cents without the tested code: hour by hour, in integers, each rounded once. */
function expectedCents(
  lifetimes: Lifetime[],
  calls: Calls[],
  fromHour: number,
  toHour: number,
  discount: bigint,
  isSwiss: boolean,
) {
  // Thousandths of a dollar times 720, so that hourly shares of monthly prices stay integers.
  let milliDollarsTimes720 = 0n
  for (const lifetime of lifetimes)
    for (let hour = Math.max(lifetime.fromHour, fromHour); hour < Math.min(lifetime.toHour, toHour); hour++) {
      const price = (hour < firstHourOfApril ? pricesBeforeApril : pricesFromApril)[lifetime.type] ?? 0n
      milliDollarsTimes720 += lifetime.type === 'storage' ? price * BigInt(lifetime.size) : price * 720n
    }
  const requests = calls.filter((c) => c.hour >= fromHour && c.hour < toHour).reduce((sum, c) => sum + c.requests, 0)
  const billed = BigInt(Math.max(0, requests - 2_000_000))
  // `gross / scale` is the amount in dollars. A million requests cost two dollars.
  const scale = 720n * 1000n * 1_000_000n
  const gross = milliDollarsTimes720 * 1_000_000n + billed * 2n * 720n * 1000n
  const net = divideHalfUp(gross * (100n - discount) * 100n, scale * 100n)
  const tax = isSwiss ? divideHalfUp(net * 81n, 1000n) : 0n
  return { net, tax }
}

const divideHalfUp = (n: bigint, d: bigint) => (2n * n + d) / (2n * d)

test.each([1, 2, 3])('the receipts of a random year match an independent calculation to the cent (seed %i)', (seed) => {
  const { lifetimes, calls } = sampleYear(seed)
  const usage = meterYear(lifetimes, calls)
  const discount = seed === 2 ? 15 : 0
  const country = seed === 3 ? 'DE' : null
  let month = '2026-01'
  let billedMonths = 0
  while (month !== '2027-01') {
    const usageInMonth = usage.filter((u) => u.day.startsWith(month))
    const receipt = receiptOf({ book, month, usage: usageInMonth, discountPercent: new Big(discount), country })
    const hourOf = (ms: number) => (ms - yearStart) / msPerHour
    const expected = expectedCents(
      lifetimes,
      calls,
      hourOf(monthStartMs(month)),
      hourOf(monthEndMs(month)),
      BigInt(discount),
      country === null,
    )
    const cents = (text: string) => BigInt(new Big(text).times(100).toFixed(0))
    expect([month, cents(receipt.total), cents(receipt.tax.amount)]).toEqual([
      month,
      expected.net + expected.tax,
      expected.tax,
    ])
    if (expected.net > 0n) billedMonths++

    // Items by squid, merged items and discounts add up exactly.
    const sum = (items: { subtotal: string }[]) => items.reduce((s, i) => s.plus(i.subtotal), new Big(0)).toFixed()
    expect([sum(receipt.items), sum(mergeSquids(receipt).items)]).toEqual([receipt.subTotal, receipt.subTotal])
    const shares = receipt.items.reduce((s, i) => s.plus(i.discount), new Big(0))
    expect(shares.toFixed()).toBe(receipt.discounts.reduce((s, d) => s.plus(d.amount), new Big(0)).toFixed())
    const subtotals = receipt.items.map((i) => Number(i.subtotal))
    expect(subtotals).toEqual([...subtotals].sort((a, b) => b - a))
    month = monthAfter(month)
  }
  expect(billedMonths).toBeGreaterThan(10)
  expect(monthOf(yearStart)).toBe('2026-01')
})

test('in a month with a price change, each day is billed at its own prices', () => {
  const changed = { ...book, lists: book.lists.map((list, i) => (i === 1 ? { ...list, from: '2026-04-16' } : list)) }
  const usage = Array.from({ length: 30 }, (_, i) => ({
    day: `2026-04-${String(i + 1).padStart(2, '0')}`,
    type: 'api.small',
    squidId: 1,
    squidName: 'a@v1',
    quantity: BigInt(24 * msPerHour),
  }))
  const receipt = receiptOf({ book: changed, month: '2026-04', usage, discountPercent: new Big(0), country: 'US' })
  expect(receipt.items.map((i) => [i.amount, i.rate, i.subtotal])).toEqual([
    ['360', '0.048', '17.28'],
    ['360', '0.04', '14.4'],
  ])
  expect(receipt).toMatchObject({ total: '31.68', tax: { percent: '0', amount: '0.00' } })
})
