import { Readable } from 'node:stream'
import type { LogEntry } from '@shoal/contract'
import type { Db } from '../../../db/database.ts'
import { entryOf } from '../entry.ts'
import type { LinePosition } from '../lines-store.ts'
import { readHistory, type HistoryQuery } from './read-history.ts'

const lineBatchSize = 5_000

/** All lines of a question as text, oldest first. Reads on only as fast as the caller takes it. */
export function downloadHistory(db: Db, asked: Omit<HistoryQuery, 'direction' | 'after' | 'limit'>): Readable {
  return Readable.from(pagesOf(db, asked))
}

async function* pagesOf(db: Db, asked: Omit<HistoryQuery, 'direction' | 'after' | 'limit'>): AsyncGenerator<string> {
  let after: LinePosition | null = null
  do {
    const { lines, next } = await readHistory(db, { ...asked, direction: 'asc', after, limit: lineBatchSize })
    if (lines.length > 0) yield lines.map((line) => `${textOf(entryOf(line))}\n`).join('')
    after = next
  } while (after && !asked.signal.aborted)
}

/** `2026-09-02T12:04:31.208Z INFO processor sqd:processor 23 / 42 {"rate":2}` */
function textOf({ timestamp, level, container, payload }: LogEntry): string {
  return `${timestamp} ${level} ${container} ${typeof payload === 'string' ? payload : textOfObject(payload)}`
}

function textOfObject({ ns, msg, ...rest }: Record<string, unknown>): string {
  delete rest['level']
  const fields = Object.keys(rest).length > 0 ? JSON.stringify(rest) : undefined
  return [ns, msg, fields].filter((part) => part !== undefined).join(' ')
}
