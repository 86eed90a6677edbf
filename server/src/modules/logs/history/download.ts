import { Readable } from 'node:stream'
import type { LogEntry } from '@shoal/contract'
import { entryOf } from '../entry.ts'
import type { LinePosition } from '../lines-store.ts'
import type { LogReader } from '../reader.ts'
import type { HistoryQuery } from './read-history.ts'

/** Number of lines that are read and sent at a time. */
const lineBatchSize = 5_000

/** Streams all matching lines as text, oldest first. Reads only as fast as the caller consumes. */
export function downloadHistory(
  reader: LogReader,
  query: Omit<HistoryQuery, 'direction' | 'after' | 'limit'>,
): Readable {
  return Readable.from(pagesOf(reader, query))
}

async function* pagesOf(
  reader: LogReader,
  query: Omit<HistoryQuery, 'direction' | 'after' | 'limit'>,
): AsyncGenerator<string> {
  let after: LinePosition | null = null
  do {
    const { lines, next } = await reader.history({
      ...query,
      direction: 'asc',
      after,
      limit: lineBatchSize,
    })
    if (lines.length > 0) yield lines.map((line) => `${formatEntry(entryOf(line))}\n`).join('')
    after = next
  } while (after && !query.signal.aborted)
}

/** Formats an entry as `2026-09-02T12:04:31.208Z INFO processor sqd:processor 23 / 42 {"rate":2}`. */
function formatEntry({ timestamp, level, container, payload }: LogEntry): string {
  return `${timestamp} ${level} ${container} ${typeof payload === 'string' ? payload : formatObject(payload)}`
}

function formatObject({ ns, msg, ...other }: Record<string, unknown>): string {
  delete other['level']
  const fields = Object.keys(other).length > 0 ? JSON.stringify(other) : undefined
  return [ns, msg, fields].filter((part) => part !== undefined).join(' ')
}
