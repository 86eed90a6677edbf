import { expect, test } from 'vitest'
import { days, hours, minutes } from '../../clock.ts'
import type { RetentionCheck, Level } from './levels.ts'
import { timeGroupOf } from './range.ts'

const to = Date.parse('2026-03-29T12:00Z')
const groupOf = (ms: number, isRetained: RetentionCheck = () => true) =>
  timeGroupOf({ fromMs: to - ms, toMs: to }, isRetained)

test('the bucket of a chart is a minute, hour, day or month, depending on the length of the range', () => {
  expect([hours(6), hours(6) + 1, days(14), days(15), days(366), days(367)].map((ms) => groupOf(ms))).toEqual([
    'Minute',
    'Hour',
    'Hour',
    'Day',
    'Day',
    'Month',
  ])
})

test('a chart of a range with expired data has larger buckets', () => {
  const keptLevels =
    (...levels: Level[]): RetentionCheck =>
    (level) =>
      levels.includes(level)
  expect(groupOf(minutes(30), keptLevels('hours', 'days', 'months'))).toBe('Hour')
  expect(groupOf(minutes(30), keptLevels('days', 'months'))).toBe('Day')
  expect(groupOf(days(3), keptLevels('months'))).toBe('Month')
})
