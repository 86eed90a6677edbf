import { gapContainer, type LogEntry } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { entryOf } from '../entry.ts'
import { matchesEverything, matches, type LogFilter } from '../filter.ts'
import type { LogReader } from '../reader.ts'
import type { Tails } from './tails.ts'

/** Which lines to follow. */
export type FollowQuery = {
  squidId: number
  filter: LogFilter
  /** The number of the line to continue after; null to receive new lines only. */
  afterSeq: number | null
  signal: AbortSignal
}

/** Maximum lines and bytes of one batch. Each follower has a batch in memory. */
const batchLimits = { limit: 500, maxBytes: 1_000_000 }

/**
 * Yields batches of entries as they arrive, until the client disconnects or the version is deleted. With `afterSeq`, it begins with the
 * stored lines after that one. A client that reads too slowly receives an entry with the number of missing lines.
 */
export async function* follow(
  app: Pick<App, 'clock'>,
  { tails, reader }: { tails: Tails; reader: LogReader },
  query: FollowQuery,
): AsyncGenerator<LogEntry[]> {
  const { tail, release } = await tails.open(query.squidId)
  try {
    let position = query.afterSeq ?? tail.lastSeq
    while (position < tail.firstSeq - 1 && !query.signal.aborted) {
      const { lines } = await reader.after(query.squidId, { afterSeq: position, ...batchLimits })
      position = lines.at(-1)?.seq ?? tail.firstSeq - 1
      yield* batchOf(lines, query.filter)
    }
    while (!query.signal.aborted) {
      const { firstSeq } = tail
      if (position < firstSeq - 1) {
        yield* await gapOf(app, reader, query, position + 1, firstSeq - 1)
        position = firstSeq - 1
      }
      const lines = tail.after({ afterSeq: position, ...batchLimits })
      position = lines.at(-1)?.seq ?? position
      yield* batchOf(lines, query.filter)
      if (lines.length > 0) continue
      if (tail.isEnded) return
      await tail.changed(query.signal)
    }
  } finally {
    release()
  }
}

function* batchOf(lines: Parameters<typeof entryOf>[0][], filter: LogFilter) {
  const matching = matchesEverything(filter) ? lines : lines.filter((line) => matches(filter, line))
  if (matching.length > 0) yield matching.map(entryOf)
}

/** Returns the entry that replaces the lines from `first` to `last` for a slow follower; none when the filter excludes them all. */
async function gapOf(
  app: Pick<App, 'clock'>,
  reader: LogReader,
  { squidId, filter }: FollowQuery,
  first: number,
  last: number,
): Promise<LogEntry[][]> {
  const missing = matchesEverything(filter)
    ? last - first + 1
    : await reader.count(squidId, { firstSeq: first, lastSeq: last }, filter)
  if (missing === 0) return []
  const payload = `${missing} ${missing === 1 ? 'line was' : 'lines were'} left out because this reader was too slow`
  const timestamp = app.clock.now().toISOString()
  return [[{ id: String(last), timestamp, level: 'WARNING', container: gapContainer, payload }]]
}
