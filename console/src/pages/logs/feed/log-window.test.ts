import { expect, test } from 'vitest'
import type { LogEntry } from '@shoal/contract'
import { maxLines, openedAround, openedAtEnd, withLive, withNewer, withOlder } from './log-window.ts'

const entry = (id: number): LogEntry => ({
  id: String(id),
  timestamp: '2026-09-02T12:00:00.000Z',
  level: 'INFO',
  container: 'eth',
  payload: `line ${id}`,
})
const entries = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => entry(from + i))
const ids = (lines: readonly LogEntry[]) => lines.map(({ id }) => Number(id))
const down = (from: number, to: number, nextPage: string | null = 'more') => ({
  logs: entries(from, to).toReversed(),
  nextPage,
})

test('pages arrive newest first and are kept oldest first; a line keeps its number', () => {
  const opened = openedAtEnd(down(7, 9))
  expect(ids(opened.lines)).toEqual([7, 8, 9])
  const more = withOlder(opened, down(4, 6, null))
  expect(ids(more.lines)).toEqual([4, 5, 6, 7, 8, 9])
  expect(more).toMatchObject({ first: -3, older: null, newer: null })
  expect(more.lines[0 - more.first]?.id).toBe('7')
})

test('a window around a line has it once, or not at all if a filter excludes it', () => {
  const after = { logs: entries(5, 7), nextPage: 'newer' }
  const around = openedAround(down(3, 5), after)
  expect(ids(around.lines)).toEqual([3, 4, 5, 6, 7])
  expect(around).toMatchObject({ older: { nextPage: 'more' }, newer: { nextPage: 'newer' } })
  expect(ids(openedAround(down(3, 4), { ...after, logs: entries(6, 7) }).lines)).toEqual([3, 4, 6, 7])
  const whole = withNewer(around, { logs: entries(8, 9), nextPage: null })
  expect(ids(whole.lines)).toEqual([3, 4, 5, 6, 7, 8, 9])
  expect(whole.newer).toBeNull()
})

test('excess lines are trimmed at the old end and can be reloaded; none while the user reads', () => {
  const opened = openedAtEnd(down(1, 10, null))
  const untrimmed = withLive(opened, entries(11, maxLines + 9_000), true)
  expect(untrimmed.lines).toHaveLength(maxLines + 9_000)
  const trimmed = withLive(opened, entries(11, maxLines + 9_000), false)
  expect(trimmed.lines).toHaveLength(maxLines)
  expect(trimmed).toMatchObject({ first: 9_000, older: { at: '9001' } })
  const again = withOlder(trimmed, down(8_999, 9_001))
  expect(ids(again.lines.slice(0, 3))).toEqual([8_999, 9_000, 9_001])
  expect(again.first).toBe(8_998)
})
