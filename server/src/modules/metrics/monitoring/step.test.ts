import fc from 'fast-check'
import { expect, test } from 'vitest'
import { days, hours, minutes } from '../../../clock.ts'
import { stepOf, timesOf } from './step.ts'

const always = () => true

test('a chart has at most the requested number of points, each made of whole buckets', () => {
  const range = fc.record({
    fromMs: fc.integer({ min: 0, max: 2e12 }),
    lengthMs: fc.integer({ min: 1, max: days(1500) }),
  })
  const unitMs = { samples: 1, minutes: minutes(1), hours: hours(1), days: days(1) }
  fc.assert(
    fc.property(range, fc.integer({ min: 6, max: 1000 }), ({ fromMs, lengthMs }, points) => {
      const range = { fromMs, toMs: fromMs + lengthMs }
      const step = stepOf(range, points, always)
      const times = timesOf(range, step.ms)
      expect(times.length).toBeLessThanOrEqual(points)
      expect(step.ms % unitMs[step.level]).toBe(0)
      expect(times[0]).toBeLessThanOrEqual(fromMs)
      expect((times.at(-1) ?? 0) + step.ms).toBeGreaterThanOrEqual(range.toMs)
    }),
  )
})

test('a range is drawn with the finest possible step', () => {
  const to = Date.parse('2026-03-29T12:00Z')
  const stepFor = (ms: number) => stepOf({ fromMs: to - ms, toMs: to }, 300, always)
  expect(stepFor(hours(1))).toEqual({ ms: 30_000, level: 'samples' })
  expect(stepFor(hours(24))).toEqual({ ms: minutes(5), level: 'minutes' })
  expect(stepFor(days(7))).toEqual({ ms: hours(1), level: 'hours' })
  expect(stepFor(days(30))).toEqual({ ms: hours(3), level: 'hours' })
})

test('a range with expired minutes is drawn by the hour', () => {
  const range = { fromMs: days(100), toMs: days(100) + hours(1) }
  expect(stepOf(range, 300, (level) => level === 'hours' || level === 'days')).toEqual({ ms: hours(1), level: 'hours' })
})
