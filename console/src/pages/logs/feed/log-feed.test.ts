import type { LogEntry } from '@shoal/contract'
import { afterEach, expect, test, vi } from 'vitest'
import { createLogFeed, type FollowQuery, type HistoryQuery, type LogFeed, type LogsQuery } from './log-feed.ts'

const entry = (id: number): LogEntry => ({
  id: String(id),
  timestamp: '2026-09-02T12:00:00.000Z',
  level: 'INFO',
  container: 'eth',
  payload: `line ${id}`,
})
const noFilters: LogsQuery = { filter: {}, from: undefined, to: undefined, line: undefined }

/**
 * A fake log. `print` adds lines, `breakStream` ends the stream with an error, `followedAfter` contains the id of the line after which
 * each stream started.
 */
function startLog(count: number) {
  const lines = Array.from({ length: count }, (_, i) => entry(i + 1))
  const followedAfter: (string | undefined)[] = []
  let wake = () => {}
  let isBroken = false
  return {
    followedAfter,
    print: (...ids: number[]) => (lines.push(...ids.map(entry)), wake()),
    breakStream: () => ((isBroken = true), wake()),
    source: {
      history: async ({ nextPage, orderBy, at }: HistoryQuery) => {
        const all = orderBy === 'asc' ? lines : lines.toReversed()
        const start = at ? all.findIndex(({ id }) => id === at) : Number(nextPage ?? 0)
        const logs = all.slice(start, start + 10)
        const next = start + logs.length
        return { logs, nextPage: next < all.length ? String(next) : null, lastId: lines.at(-1)?.id ?? '0' }
      },
      async *follow({ after }: FollowQuery, signal: AbortSignal) {
        followedAfter.push(after)
        yield []
        for (let sent = Number(after); !signal.aborted;) {
          if (lines.length > sent) yield lines.slice(sent)
          sent = lines.length
          await new Promise<void>((done) => (wake = done))
          if (!isBroken) continue
          isBroken = false
          throw new TypeError('network error')
        }
      },
    },
  }
}

const until = (check: () => void) => vi.waitFor(check, { timeout: 60_000 })

let feed: LogFeed
afterEach(() => feed.close())
const ids = () => feed.getState().window.lines.map(({ id }) => Number(id))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

test('the feed starts with the newest lines, loads older pages, and follows new lines without a gap', async () => {
  const log = startLog(25)
  feed = createLogFeed(log.source, noFilters)
  feed.open()
  await until(() => expect(feed.getState().live).toBe('live'))
  expect(ids()).toEqual(range(16, 25))
  expect(log.followedAfter).toEqual(['25'])
  feed.loadOlder()
  // The feed ignores a second request while one is in flight.
  feed.loadOlder()
  await until(() => expect(ids()).toEqual(range(6, 25)))
  log.print(26, 27)
  await until(() => expect(ids()).toEqual(range(6, 27)))
})

test('after a broken stream, the feed resumes after the last line it received', async () => {
  const log = startLog(5)
  feed = createLogFeed(log.source, noFilters)
  feed.open()
  await until(() => expect(feed.getState().live).toBe('live'))
  log.print(6)
  await until(() => expect(ids()).toEqual(range(1, 6)))
  log.breakStream()
  await until(() => expect(feed.getState().live).toBe('reconnecting'))
  log.print(7)
  await until(() => expect(ids()).toEqual(range(1, 7)))
  expect(log.followedAfter).toEqual(['5', '6'])
})

test('a feed that starts at a line follows new lines only after it has reached the end; a feed with an end never does', async () => {
  const log = startLog(40)
  feed = createLogFeed(log.source, { ...noFilters, line: '15' })
  feed.open()
  await until(() => expect(ids()).toEqual(range(6, 24)))
  expect(feed.getState().live).toBe('off')
  for (let last = 34; last <= 40; last += 6) {
    feed.loadNewer()
    await until(() => expect(ids().at(-1)).toBe(last))
  }
  await until(() => expect(log.followedAfter).toEqual(['40']))
  feed.close()
  feed = createLogFeed(log.source, { ...noFilters, to: '2026-09-03' })
  feed.open()
  await until(() => expect(feed.getState().status).toBe('ready'))
  expect(feed.getState().live).toBe('off')
  expect(log.followedAfter).toHaveLength(1)
})
