import fc from 'fast-check'
import { expect, test } from 'vitest'
import { dayOf, days } from '../../../clock.ts'
import { addUp, availabilityOf, dayStatusOf, downMinutesOf, noMeasurements, type Measurements } from './availability.ts'
import { maxGapMs, splitDays } from './round.ts'

const dayParts = fc
  .record({
    requests: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 10_000_000 })),
    failedShare: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
    upMs: fc.integer({ min: 0, max: days(1) }),
    downMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: days(1) })),
    hibernatedMs: fc.integer({ min: 0, max: days(1) }),
  })
  .map(({ failedShare, ...day }): Measurements => ({ ...day, failures: Math.floor(day.requests * failedShare) }))

test('availability is between 0 and 100, is 100 only without failures, and never exceeds the exact share', () => {
  fc.assert(
    fc.property(dayParts, (day) => {
      const percent = availabilityOf(day)
      const [failed, total] = day.requests > 0 ? [day.failures, day.requests] : [day.downMs, day.upMs + day.downMs]
      if (total === 0) {
        expect(percent).toBeNull()
        return
      }
      expect(percent).toBeGreaterThanOrEqual(0)
      expect(percent === 100).toBe(failed === 0)
      expect(percent).toBeLessThanOrEqual((1 - failed / total) * 100 + 1e-9)
      expect(percent).toBeGreaterThan((1 - failed / total) * 100 - 0.011)
    }),
  )
})

test('hibernated time changes neither availability nor minutes without a healthy api', () => {
  fc.assert(
    fc.property(dayParts, fc.integer({ min: 0, max: days(1) }), (day, hibernatedMs) => {
      const other = { ...day, hibernatedMs }
      expect(availabilityOf(other)).toBe(availabilityOf(day))
      expect(downMinutesOf(other)).toBe(downMinutesOf(day))
    }),
  )
})

test('the order of days does not change their sum, whose availability is between those of the worst and the best day', () => {
  fc.assert(
    fc.property(
      fc.array(
        dayParts.filter(({ requests }) => requests > 0),
        { minLength: 1 },
      ),
      (list) => {
        expect(addUp(list)).toEqual(addUp(list.toReversed()))
        const all = list.map((day) => availabilityOf(day) ?? 0)
        const whole = availabilityOf(addUp(list)) ?? -1
        expect(whole).toBeGreaterThanOrEqual(Math.min(...all) - 0.011)
        expect(whole).toBeLessThanOrEqual(Math.max(...all) + 0.011)
      },
    ),
  )
})

test('a time span is split at midnight without losing a millisecond', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: days(20_000) }), fc.integer({ min: 1, max: maxGapMs }), (fromMs, ms) => {
      const parts = splitDays(fromMs, fromMs + ms)
      expect(parts.reduce((sum, part) => sum + part.ms, 0)).toBe(ms)
      expect(parts.map(({ day }) => day)).toEqual([...new Set([dayOf(fromMs), dayOf(fromMs + ms - 1)])])
    }),
  )
  expect(splitDays(0, maxGapMs + 1)).toEqual([])
  expect(splitDays(10, 10)).toEqual([])
  expect(splitDays(10, 5)).toEqual([])
})

test.each<[string, Partial<Measurements>, string]>([
  ['nothing measured', {}, 'unknown'],
  ['no request, healthy', { upMs: days(1) }, 'good'],
  ['no request, down for ten minutes', { upMs: days(1), downMs: 600_000 }, 'degraded'],
  ['no request, down for an hour', { upMs: days(1), downMs: 3_600_000 }, 'outage'],
  ['hibernated all day', { hibernatedMs: days(1) }, 'hibernated'],
  ['hibernated, with rejected requests', { hibernatedMs: days(1), requests: 50 }, 'hibernated'],
  ['one failure of 10,000', { requests: 10_000, failures: 1, upMs: days(1) }, 'good'],
  ['1 % failures', { requests: 100, failures: 1, upMs: days(1) }, 'degraded'],
  ['10 % failures', { requests: 100, failures: 10, upMs: days(1) }, 'outage'],
  ['requests, but no observed time', { requests: 100 }, 'good'],
])('the status of a day: %s', (_, measured, status) => {
  expect(dayStatusOf({ ...noMeasurements, ...measured })).toBe(status)
})
