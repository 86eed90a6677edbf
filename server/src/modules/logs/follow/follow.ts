import { gapContainer, type LogEntry } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { entryOf } from '../entry.ts'
import { isEverything, matches, type LogFilter } from '../filter.ts'
import { countLines, readAfter } from '../lines-store.ts'
import type { Tails } from './tails.ts'

export type FollowQuery = {
  squidId: number
  filter: LogFilter
  /** Continue after this line; null: with new lines. */
  afterSeq: number | null
  signal: AbortSignal
}

const lineBatchSize = 500

/**
 * Batches of entries as they arrive, until the client disconnects or the version is deleted. With `afterSeq`, first the lines since
 * then. A reader that falls too far behind gets an entry with the number of missing lines.
 */
export async function* follow(
  app: Pick<App, 'db' | 'clock'>,
  tails: Tails,
  query: FollowQuery,
): AsyncGenerator<LogEntry[]> {
  const { tail, release } = await tails.open(query.squidId)
  try {
    let at = query.afterSeq ?? tail.lastSeq
    while (at < tail.firstSeq - 1 && !query.signal.aborted) {
      const lines = await readAfter(app.db, query.squidId, at, lineBatchSize)
      at = lines.at(-1)?.seq ?? tail.firstSeq - 1
      yield* batchOf(lines, query.filter)
    }
    while (!query.signal.aborted) {
      const { firstSeq } = tail
      if (at < firstSeq - 1) {
        yield* await gapOf(app, query, at + 1, firstSeq - 1)
        at = firstSeq - 1
      }
      const lines = tail.after(at, lineBatchSize)
      at = lines.at(-1)?.seq ?? at
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
  const shown = isEverything(filter) ? lines : lines.filter((line) => matches(filter, line))
  if (shown.length > 0) yield shown.map(entryOf)
}

/** Replaces the lines from `first` to `last` for a slow reader; nothing when its filter excludes all of them. */
async function gapOf(
  app: Pick<App, 'db' | 'clock'>,
  { squidId, filter }: FollowQuery,
  first: number,
  last: number,
): Promise<LogEntry[][]> {
  const missing = isEverything(filter)
    ? last - first + 1
    : await countLines(app.db, squidId, { firstSeq: first, lastSeq: last }, filter)
  if (missing === 0) return []
  const payload = `${missing} ${missing === 1 ? 'line was' : 'lines were'} left out because this reader was too slow`
  const timestamp = app.clock.now().toISOString()
  return [[{ id: String(last), timestamp, level: 'WARNING', container: gapContainer, payload }]]
}
