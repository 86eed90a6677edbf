import { expect, test } from 'vitest'
import type { LogEntry } from '@shoal/contract'
import { maxLines, windowAround, windowAtEnd, withLive, withNewer, withOlder } from './log-window.ts'

const entry = (id: number): LogEntry => ({
  id: String(id),
  timestamp: '2026-09-02T12:00:00.000Z',
  level: 'INFO',
  container: 'eth',
  payload: `line ${id}`,
})
const entries = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => entry(from + i))
const ids = (lines: readonly LogEntry[]) => lines.map(({ id }) => Number(id))
const olderPage = (from: number, to: number, nextPage: string | null = 'more') => ({
  logs: entries(from, to).toReversed(),
  nextPage,
})

test('the window is sorted oldest first, although pages are newest first, and each line keeps its number', () => {
  const opened = windowAtEnd(olderPage(7, 9))
  expect(ids(opened.lines)).toEqual([7, 8, 9])
  const extended = withOlder(opened, olderPage(4, 6, null))
  expect(ids(extended.lines)).toEqual([4, 5, 6, 7, 8, 9])
  expect(extended).toMatchObject({ first: -3, older: null, newer: null })
  expect(extended.lines[0 - extended.first]?.id).toBe('7')
})

test('a window around a line contains the line once, or not at all if a filter excludes it', () => {
  const after = { logs: entries(5, 7), nextPage: 'newer' }
  const around = windowAround(olderPage(3, 5), after)
  expect(ids(around.lines)).toEqual([3, 4, 5, 6, 7])
  expect(around).toMatchObject({ older: { nextPage: 'more' }, newer: { nextPage: 'newer' } })
  expect(ids(windowAround(olderPage(3, 4), { ...after, logs: entries(6, 7) }).lines)).toEqual([3, 4, 6, 7])
  const complete = withNewer(around, { logs: entries(8, 9), nextPage: null })
  expect(ids(complete.lines)).toEqual([3, 4, 5, 6, 7, 8, 9])
  expect(complete.newer).toBeNull()
})

test('the oldest lines are trimmed unless trimming is paused, and can be loaded again', () => {
  const opened = windowAtEnd(olderPage(1, 10, null))
  const untrimmed = withLive(opened, entries(11, maxLines + 9_000), true)
  expect(untrimmed.lines).toHaveLength(maxLines + 9_000)
  const trimmed = withLive(opened, entries(11, maxLines + 9_000), false)
  expect(trimmed.lines).toHaveLength(maxLines)
  expect(trimmed).toMatchObject({ first: 9_000, older: { at: '9001' } })
  const reloaded = withOlder(trimmed, olderPage(8_999, 9_001))
  expect(ids(reloaded.lines.slice(0, 3))).toEqual([8_999, 9_000, 9_001])
  expect(reloaded.first).toBe(8_998)
})
