import { expect, test } from 'vitest'
import {
  shortenedStartMs,
  queryTimes,
  isCustom,
  namedRange,
  searchOfCustom,
  searchOfNamed,
  type TimeRanges,
} from './time-range.ts'

const defaultRange = { id: '2d', label: 'Last 2 days', ms: 2 * 86_400_000 }
const hour = { id: '1h', label: 'Last hour', ms: 3_600_000 }
const ranges: TimeRanges = { defaultRange, options: [hour, defaultRange] }
const now = Date.parse('2026-09-02T12:00:00.000Z')

test('a named range ends now; an unknown name selects the default range', () => {
  expect(queryTimes(ranges, { range: '1h' }, now)).toEqual({ from: '2026-09-02T11:00:00.000Z' })
  expect(queryTimes(ranges, { range: 'nope' }, now)).toEqual({ from: '2026-08-31T12:00:00.000Z' })
  expect([searchOfNamed(ranges, '2d').range, searchOfNamed(ranges, '1h').range]).toEqual([undefined, '1h'])
})

test('times take precedence over a name; invalid times are dropped', () => {
  const search = { range: '1h', from: '2026-09-02T10:00:00.000Z', to: 'soon' }
  expect(isCustom(search)).toBe(true)
  expect(namedRange(ranges, search)).toBe(hour)
  expect(queryTimes(ranges, search, now)).toEqual({ from: search.from, to: undefined })
})

test('a custom range initially has the times of the previous range', () => {
  const customSearch = searchOfCustom(ranges, { range: '1h' }, now)
  expect(customSearch).toEqual({ range: '1h', from: '2026-09-02T11:00:00.000Z', to: '2026-09-02T12:00:00.000Z' })
  expect(searchOfCustom(ranges, customSearch, now + 1)).toEqual(customSearch)
})

test('a named range starts no earlier than the version was created, but is at least 15 minutes long', () => {
  const minutesAgo = (minutes: number) => now - minutes * 60_000
  expect(shortenedStartMs(ranges, {}, minutesAgo(40) + 5000, now)).toBe(minutesAgo(40))
  expect(shortenedStartMs(ranges, {}, minutesAgo(2), now)).toBe(minutesAgo(15))
  expect(shortenedStartMs(ranges, { range: '1h' }, minutesAgo(61), now)).toBeNull()
  expect(shortenedStartMs(ranges, { from: '2026-09-01T00:00:00.000Z' }, minutesAgo(2), now)).toBeNull()
})
