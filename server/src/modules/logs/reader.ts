import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { isUnavailable } from '../../db/unavailable.ts'
import { refuse } from '../../errors.ts'
import type { LogFilter } from './filter.ts'
import { mergePages } from './history/merge-pages.ts'
import { readHistory, type LogPage, type HistoryQuery } from './history/read-history.ts'
import {
  countLines,
  findTimeOf,
  lastSeqs,
  readAfter,
  type PartQuery,
  type SeqRange,
  type StoredLine,
} from './lines-store.ts'
import { hasSeparateDatabase } from './move/logs-database.ts'
import { findMove } from './move/state-store.ts'

/** Reads logs from the database of logs, and from that of the control plane while earlier lines are moved. */
export type LogReader = {
  /** Returns a page of matching lines. */
  history: (query: HistoryQuery) => Promise<LogPage>
  /** Returns the next lines in order of arrival. */
  after: (squidId: number, query: PartQuery) => Promise<{ lines: StoredLine[]; hasMore: boolean }>
  /** Returns the number of the last line of each version that has lines. */
  lastSeqs: (squidIds: number[]) => Promise<Map<number, number>>
  /** Returns when a line was written; null when it does not exist, or was deleted with its day. */
  timeOf: (squidId: number, seq: number) => Promise<number | null>
  /** Returns the number of lines in a range that match the filter. */
  count: (squidId: number, range: SeqRange, filter: LogFilter) => Promise<number>
}

type ReaderApp = Pick<App, 'config' | 'db' | 'logsDatabase'>

const unavailableMessage =
  'The logs cannot be shown, because their database does not respond. New lines are kept and appear when it responds again.'

/** Creates the reader of this process. Its methods fail with Refusal 405 while a separate database of logs does not respond. */
export function createReader(app: ReaderApp): LogReader {
  const databasesOf = createDatabaseList(app)
  /** Reads the database of the earlier lines first: a line that is moved between the two reads is found by the second. */
  const readAll = async <T>(read: (db: Db) => Promise<T>): Promise<T[]> => {
    const results: T[] = []
    for (const db of await databasesOf()) {
      try {
        results.push(await read(db))
      } catch (error) {
        if (db !== app.db && isUnavailable(error)) throw refuse('LOGS_UNAVAILABLE', unavailableMessage)
        throw error
      }
    }
    return results
  }
  return {
    history: async (query) => mergePages(await readAll((db) => readHistory(db, query)), query),
    after: async (squidId, query) => mergeParts(await readAll((db) => readAfter(db, squidId, query)), query.limit),
    lastSeqs: async (squidIds) => mergeLast(await readAll((db) => lastSeqs(db, squidIds))),
    timeOf: async (squidId, seq) =>
      (await readAll((db) => findTimeOf(db, squidId, seq))).find((ms) => ms !== null) ?? null,
    // While lines are moved, both databases may have the same line.
    count: async (squidId, range, filter) =>
      Math.max(0, ...(await readAll((db) => countLines(db, squidId, range, filter)))),
  }
}

/** Returns a function that lists the databases that have lines, that of the earlier lines first. */
function createDatabaseList(app: ReaderApp): () => Promise<Db[]> {
  let isMoveComplete = false
  return async () => {
    if (!hasSeparateDatabase(app)) return [app.db]
    if (isMoveComplete) return [app.logsDatabase.db]
    const move = await findMove(app.db)
    // Until the worker has prepared the separate database, all lines are in the control plane.
    if (!move) return [app.db]
    isMoveComplete = move.isMoved
    return isMoveComplete ? [app.logsDatabase.db] : [app.db, app.logsDatabase.db]
  }
}

/** Returns the database that new lines go to. */
export async function databaseOfNewLines(app: ReaderApp): Promise<Db> {
  return hasSeparateDatabase(app) && (await findMove(app.db)) ? app.logsDatabase.db : app.db
}

type Part = { lines: StoredLine[]; hasMore: boolean }

/**
 * Merges the next lines of several databases. A line may be in more than one database. Stops where one of them may have
 * more lines.
 */
function mergeParts(parts: Part[], limit: number): Part {
  const [only] = parts
  if (only && parts.length === 1) return only
  const end = Math.min(...parts.map(({ lines, hasMore }) => (hasMore ? (lines.at(-1)?.seq ?? 0) : Infinity)))
  const bySeq = new Map(parts.flatMap(({ lines }) => lines).map((line) => [line.seq, line]))
  const lines = [...bySeq.values()].filter(({ seq }) => seq <= end).sort((a, b) => a.seq - b.seq)
  return { lines: lines.slice(0, limit), hasMore: lines.length > limit || end < Infinity }
}

function mergeLast(maps: Map<number, number>[]): Map<number, number> {
  const last = new Map<number, number>()
  for (const [squidId, seq] of maps.flatMap((map) => [...map])) last.set(squidId, Math.max(seq, last.get(squidId) ?? 0))
  return last
}
