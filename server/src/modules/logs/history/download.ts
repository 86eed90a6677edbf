import { AsyncLocalStorage } from 'node:async_hooks'
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
  // Otherwise, pages that the caller's connection requests would not use the organization's share of the database connections.
  const inRequest = AsyncLocalStorage.snapshot()
  return Readable.from(pagesOf((page) => inRequest(() => reader.history(page)), query))
}

async function* pagesOf(
  read: LogReader['history'],
  query: Omit<HistoryQuery, 'direction' | 'after' | 'limit'>,
): AsyncGenerator<string> {
  let after: LinePosition | null = null
  do {
    const page = { ...query, direction: 'asc', after, limit: lineBatchSize } as const
    const { lines, next } = await read(page)
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
