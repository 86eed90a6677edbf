import { DatabaseError } from 'pg'
import type { App } from '../app.ts'
import type { PgTable } from './columns.ts'
import type { Db } from './database.ts'
import { putRows } from './put-rows.ts'
import { getTableName } from './sql.ts'
import { isCausedBy } from './unavailable.ts'

/**
 * Inserts rows, or changes the rows whose `key` exists, as `putRows` does. If Postgres cannot store a value, stores the other rows and logs
 * the keys of the rows that it rejects: the programs of users determine the values, and must not prevent rows of others from being stored.
 */
export async function putValidRows<T extends PgTable>(
  { db, log }: { db: Db; log: Pick<App['log'], 'warn'> },
  table: T,
  rows: readonly T['$inferInsert'][],
  key: (keyof T['$inferInsert'] & string)[],
): Promise<void> {
  if (rows.length === 0) return
  // A statement that fails makes an open transaction unusable, but not the transaction around this one.
  const put = (batch: readonly T['$inferInsert'][]) => db.transaction((tx) => putRows(tx, table, batch, key))
  try {
    return await put(rows)
  } catch (error) {
    if (!isDataException(error)) throw error
  }
  const rejected: unknown[] = []
  let lastError: unknown
  for (const row of rows)
    try {
      await put([row])
    } catch (error) {
      if (!isDataException(error)) throw error
      rejected.push(key.map((column) => (row as Record<string, unknown>)[column]))
      lastError = error
    }
  log.warn({ err: lastError, table: getTableName(table), key, rejected }, 'Postgres cannot store values of these rows')
}

/** Whether Postgres rejected a value (class 22), such as a number out of range. */
function isDataException(error: unknown): boolean {
  return isCausedBy(error, (at) => at instanceof DatabaseError && at.code?.startsWith('22') === true)
}
