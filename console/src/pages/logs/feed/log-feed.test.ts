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
const everything: LogsQuery = { filter: {}, from: undefined, to: undefined, line: undefined }

/** A fake log: `print` adds lines, `breakOff` breaks the stream. */
function startLog(count: number) {
  const lines = Array.from({ length: count }, (_, i) => entry(i + 1))
  const followed: (string | undefined)[] = []
  let wake = () => {}
  let isBroken = false
  return {
    followed,
    print: (...ids: number[]) => (lines.push(...ids.map(entry)), wake()),
    breakOff: () => ((isBroken = true), wake()),
    source: {
      history: async ({ nextPage, orderBy, at }: HistoryQuery) => {
        const all = orderBy === 'asc' ? lines : lines.toReversed()
        const start = at ? all.findIndex(({ id }) => id === at) : Number(nextPage ?? 0)
        const logs = all.slice(start, start + 10)
        const next = start + logs.length
        return { logs, nextPage: next < all.length ? String(next) : null, lastId: lines.at(-1)?.id ?? '0' }
      },
      async *follow({ after }: FollowQuery, signal: AbortSignal) {
        followed.push(after)
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

let feed: LogFeed
afterEach(() => feed.close())
const ids = () => feed.getState().window.lines.map(({ id }) => Number(id))
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

test('starts at the end, loads older pages, and follows without a gap', async () => {
  const log = startLog(25)
  feed = createLogFeed(log.source, everything)
  feed.open()
  await vi.waitFor(() => expect(feed.getState().live).toBe('live'))
  expect(ids()).toEqual(range(16, 25))
  expect(log.followed).toEqual(['25'])
  feed.loadOlder()
  // A second request while one is in flight is ignored.
  feed.loadOlder()
  await vi.waitFor(() => expect(ids()).toEqual(range(6, 25)))
  log.print(26, 27)
  await vi.waitFor(() => expect(ids()).toEqual(range(6, 27)))
})

test('a broken stream resumes where it broke', async () => {
  const log = startLog(5)
  feed = createLogFeed(log.source, everything)
  feed.open()
  await vi.waitFor(() => expect(feed.getState().live).toBe('live'))
  log.print(6)
  await vi.waitFor(() => expect(ids()).toEqual(range(1, 6)))
  log.breakOff()
  await vi.waitFor(() => expect(feed.getState().live).toBe('reconnecting'))
  log.print(7)
  await vi.waitFor(() => expect(ids()).toEqual(range(1, 7)), 3000)
  expect(log.followed).toEqual(['5', '6'])
})

test('around a line it follows only after reaching the end, and never a range with an end', async () => {
  const log = startLog(40)
  feed = createLogFeed(log.source, { ...everything, line: '15' })
  feed.open()
  await vi.waitFor(() => expect(ids()).toEqual(range(6, 24)))
  expect(feed.getState().live).toBe('off')
  for (let last = 34; last <= 40; last += 6) {
    feed.loadNewer()
    await vi.waitFor(() => expect(ids().at(-1)).toBe(last))
  }
  await vi.waitFor(() => expect(log.followed).toEqual(['40']))
  feed.close()
  feed = createLogFeed(log.source, { ...everything, to: '2026-09-03' })
  feed.open()
  await vi.waitFor(() => expect(feed.getState().status).toBe('ready'))
  expect(feed.getState().live).toBe('off')
  expect(log.followed).toHaveLength(1)
})
