import { Big } from 'big.js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { extendSpans, usageOfSpans, type ObservedResource, type Span } from '../metering/spans.ts'
import { readPriceBook } from '../prices/price-book.ts'
import { dayOfMs, monthAfter, monthEndMs, monthOfMs, monthStartMs, msPerHour } from '../time.ts'
import { mergeSquids, receiptOf } from './receipt.ts'
import type { DayUsage } from './rate.ts'

const book = readPriceBook({ SHOAL_PRICE_BOOK: undefined })
const yearStart = Date.parse('2026-01-01T00:00:00Z')

/** A random year of an organization: its programs by hour, and its requests. */
type Life = { type: string; squidId: number; size: number; fromHour: number; toHour: number }
type Calls = { squidId: number; hour: number; requests: number }

const types = ['api.small', 'api.2xlarge', 'processor.medium', 'postgres.large', 'collocated', 'storage']
const hoursOfYear = 365 * 24

const lives = (seed: number): { lives: Life[]; calls: Calls[] } => {
  const [first] = fc.sample(
    fc.record({
      lives: fc.array(
        fc.record({
          type: fc.constantFrom(...types),
          squidId: fc.integer({ min: 1, max: 6 }),
          size: fc.integer({ min: 1, max: 40 }),
          fromHour: fc.integer({ min: 0, max: hoursOfYear - 1 }),
          toHour: fc.integer({ min: 0, max: hoursOfYear }),
        }),
        { minLength: 25, maxLength: 40 },
      ),
      calls: fc.array(
        fc.record({
          squidId: fc.integer({ min: 1, max: 3 }),
          hour: fc.integer({ min: 0, max: hoursOfYear - 1 }),
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

/** A meter reading every 20 minutes of the year. */
function metered(given: Life[], calls: Calls[]): DayUsage[] {
  const usage: DayUsage[] = []
  given.forEach((life, i) => {
    let spans: Span[] = []
    const observed: ObservedResource = {
      orgId: 1,
      squidId: life.squidId,
      squidName: `s${life.squidId}@v1`,
      resource: `r${i}`,
      type: life.type,
      size: life.type === 'storage' ? life.size * 2 ** 30 : 1,
      sinceMs: yearStart + life.fromHour * msPerHour,
    }
    for (let ms = life.fromHour * msPerHour; ms <= life.toHour * msPerHour; ms += msPerHour / 3) {
      const at = yearStart + ms
      const [changed] = extendSpans(spans, [observed], at - msPerHour / 3, at)
      if (changed) spans = [changed]
    }
    for (const u of usageOfSpans(spans, 0, Infinity)) usage.push({ ...u, day: dayOfMs(u.hourMs) })
  })
  for (const { squidId, hour, requests } of calls)
    usage.push({
      day: dayOfMs(yearStart + hour * msPerHour),
      type: 'rpc',
      squidId,
      squidName: `s${squidId}@v1`,
      quantity: BigInt(requests),
    })
  return usage
}

/** The price lists written out by hand, in 10^-9 dollars per hour, as integers. */
const before: Record<string, bigint> = {
  'api.small': 40n,
  'api.2xlarge': 600n,
  'processor.medium': 80n,
  'postgres.large': 330n,
  collocated: 20n,
  storage: 500n,
}
const later: Record<string, bigint> = {
  'api.small': 48n,
  'api.2xlarge': 720n,
  'processor.medium': 96n,
  'postgres.large': 396n,
  collocated: 24n,
  storage: 600n,
}
const aprilHour = (31 + 28 + 31) * 24

/** An independent calculation of the receipt: hour by hour, in integers, rounded once at the end. Returns cents. */
function independent(
  given: Life[],
  calls: Calls[],
  fromHour: number,
  toHour: number,
  discount: bigint,
  isSwiss: boolean,
) {
  // Thousandths of a dollar times 720, so that monthly prices stay integers.
  let milli720 = 0n
  for (const life of given)
    for (let hour = Math.max(life.fromHour, fromHour); hour < Math.min(life.toHour, toHour); hour++) {
      const price = (hour < aprilHour ? before : later)[life.type] ?? 0n
      milli720 += life.type === 'storage' ? price * BigInt(life.size) : price * 720n
    }
  const requests = calls.filter((c) => c.hour >= fromHour && c.hour < toHour).reduce((sum, c) => sum + c.requests, 0)
  const billed = BigInt(Math.max(0, requests - 2_000_000))
  // Dollars as a fraction: two per million requests.
  const scale = 720n * 1000n * 1_000_000n
  const gross = milli720 * 1_000_000n + billed * 2n * 720n * 1000n
  const net = half(gross * (100n - discount) * 100n, scale * 100n)
  const tax = isSwiss ? half(net * 81n, 1000n) : 0n
  return { net, tax }
}

/** Rounded half up. */
const half = (n: bigint, d: bigint) => (2n * n + d) / (2n * d)

test.each([1, 2, 3])('a year of an organization agrees with an independent calculation to the cent (%i)', (seed) => {
  const { lives: given, calls } = lives(seed)
  const usage = metered(given, calls)
  const discount = seed === 2 ? 15 : 0
  const country = seed === 3 ? 'DE' : null
  let month = '2026-01'
  let different = 0
  while (month !== '2027-01') {
    const own = usage.filter((u) => u.day.startsWith(month))
    const receipt = receiptOf({ book, month, usage: own, discountPercent: new Big(discount), country })
    const hourOf = (ms: number) => (ms - yearStart) / msPerHour
    const expected = independent(
      given,
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
    if (expected.net > 0n) different++

    // All views agree to the last digit.
    const sum = (items: { subtotal: string }[]) => items.reduce((s, i) => s.plus(i.subtotal), new Big(0)).toFixed()
    expect([sum(receipt.items), sum(mergeSquids(receipt).items)]).toEqual([receipt.subTotal, receipt.subTotal])
    const shares = receipt.items.reduce((s, i) => s.plus(i.discount), new Big(0))
    expect(shares.toFixed()).toBe(receipt.discounts.reduce((s, d) => s.plus(d.amount), new Big(0)).toFixed())
    const subtotals = receipt.items.map((i) => Number(i.subtotal))
    expect(subtotals).toEqual([...subtotals].sort((a, b) => b - a))
    month = monthAfter(month)
  }
  expect(different).toBeGreaterThan(10)
  expect(monthOfMs(yearStart)).toBe('2026-01')
})

test('a month with a change of prices rates each day at its own prices', () => {
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
