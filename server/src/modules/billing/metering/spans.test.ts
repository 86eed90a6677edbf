import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hourStartMs, monthEndMs, msPerHour } from '../time.ts'
import {
  extendSpans,
  unrecordedUsage,
  usageOfSpans,
  type RecordedUsage,
  type ObservedResource,
  type Span,
  type HourlyUsage,
} from './spans.ts'

const squid = { orgId: 1, squidId: 1, squidName: 'a@v1' }
const api = (type: string, sinceMs: number | null): ObservedResource => ({
  ...squid,
  resource: 'api',
  type,
  size: 1,
  sinceMs,
})

/** An in-memory version of `meterTick`, which only adds and extends rows. */
class Meter {
  spans = new Map<string, Span>()
  records: (HourlyUsage & { part: number })[] = []
  #lastObservedMs: number | null = null

  observe(observed: ObservedResource[], nowMs: number): void {
    for (const span of extendSpans([...this.spans.values()], observed, this.#lastObservedMs, nowMs))
      this.spans.set(`${span.resource} ${span.type} ${span.size} ${span.fromMs}`, span)
    this.#lastObservedMs = Math.max(nowMs, this.#lastObservedMs ?? 0)
  }

  record(untilMs: number): void {
    const due = usageOfSpans([...this.spans.values()], 0, hourStartMs(untilMs))
    this.records.push(...unrecordedUsage(due, this.recorded()))
  }

  recorded(): RecordedUsage[] {
    const sums = new Map<string, RecordedUsage>()
    for (const { source, resource, hourMs, quantity } of this.records) {
      const key = `${resource} ${hourMs}`
      const previous = sums.get(key) ?? { source, resource, hourMs, quantity: 0n, parts: 0 }
      sums.set(key, { ...previous, quantity: previous.quantity + quantity, parts: previous.parts + 1 })
    }
    return [...sums.values()]
  }

  total = (type?: string) =>
    this.records.filter((r) => !type || r.type === type).reduce((sum, r) => sum + r.quantity, 0n)
}

const start = monthEndMs('2026-03') - 90 * 60_000

test('repeated, late and out-of-order readings add up to the elapsed time, even if they are recorded repeatedly', () => {
  const readings = fc.array(fc.integer({ min: 0, max: 5 * msPerHour }), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(readings, fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }), (times, recordsAfter) => {
      const meter = new Meter()
      meter.observe([api('api.small', start)], start)
      times.forEach((ms, i) => {
        meter.observe([api('api.small', start)], start + ms)
        if (recordsAfter[i]) meter.record(start + Math.max(...times.slice(0, i + 1)))
      })
      const endMs = Math.max(...times) + start
      meter.record(endMs + msPerHour)
      meter.record(endMs + msPerHour)
      expect(meter.total()).toBe(BigInt(endMs - start))
      expect(meter.records.every((r) => r.quantity > 0n && r.quantity <= BigInt(msPerHour))).toBe(true)
      const keys = meter.records.map((r) => `${r.resource} ${r.hourMs} ${r.part}`)
      expect(new Set(keys).size).toBe(keys.length)
    }),
    { numRuns: 300 },
  )
})

test('a program whose profile changes back and forth within an hour is never billed twice for the same time', () => {
  const step = fc.record({ ms: fc.integer({ min: 1, max: 50 * 60_000 }), isLarge: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
      const meter = new Meter()
      let at = start
      const expected = { 'api.small': 0, 'api.large': 0 }
      meter.observe([], at)
      for (const { ms, isLarge } of steps) {
        const type = isLarge ? 'api.large' : 'api.small'
        at += ms
        expected[type] += ms
        meter.observe([api(type, start)], at)
      }
      meter.record(at + msPerHour)
      expect([meter.total('api.small'), meter.total('api.large')]).toEqual([
        BigInt(expected['api.small']),
        BigInt(expected['api.large']),
      ])
    }),
    { numRuns: 300 },
  )
})

test('usage is split between months to the millisecond', () => {
  const meter = new Meter()
  const monthEnd = monthEndMs('2026-03')
  meter.observe([], monthEnd - 1)
  meter.observe([api('api.small', monthEnd - 1)], monthEnd + 1)
  meter.record(monthEnd + msPerHour)
  expect(meter.records.map((r) => [r.hourMs, r.quantity])).toEqual([
    [monthEnd - msPerHour, 1n],
    [monthEnd, 1n],
  ])
})

test('a gap in readings is billed for a program that kept running; a restarted one is billed from its restart', () => {
  const meter = new Meter()
  meter.observe([api('api.small', start)], start)
  meter.observe([api('api.small', start)], start + msPerHour)
  meter.observe([api('api.small', start)], start + 9 * msPerHour)
  // Restarted five minutes before the next reading: whether it ran during the gap is unknown.
  meter.observe([api('api.small', start + 20 * msPerHour)], start + 20 * msPerHour + 300_000)
  meter.record(start + 30 * msPerHour)
  expect(meter.total()).toBe(BigInt(9 * msPerHour + 300_000))
})

test('a hibernated version is billed for its disk only', () => {
  const disk: ObservedResource = { ...squid, resource: 'disk', type: 'storage', size: 100, sinceMs: null }
  const meter = new Meter()
  meter.observe([], start)
  meter.observe([api('api.small', start), disk], start + 1_000)
  meter.observe([disk], start + 5_000)
  meter.observe([{ ...disk, size: 200 }], start + 6_000)
  meter.record(start + msPerHour)
  expect([meter.total('api.small'), meter.total('storage')]).toEqual([1_000n, 500_000n + 200_000n])
})
