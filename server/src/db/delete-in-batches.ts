import { sql, type SQL } from './sql.ts'
import type { PgTable } from './columns.ts'
import type { Db } from './database.ts'

type BatchOptions = {
  batchSize?: number
  /** Executed first in the transaction of each batch, for example to set a variable that a trigger checks. */
  prepare?: SQL
}

/**
 * Deletes the rows of `table` that match `where`, in transactions of `batchSize` rows, so that no lock lasts long. Returns the number
 * of deleted rows.
 */
export async function deleteInBatches(
  db: Db,
  table: PgTable,
  where: SQL,
  { batchSize = 5_000, prepare }: BatchOptions = {},
): Promise<number> {
  const batch = sql`select ctid from ${table} where ${where} limit ${batchSize}`
  let deleted = 0
  for (;;) {
    const count = await db.transaction(async (tx) => {
      if (prepare) await tx.execute(prepare)
      return (await tx.execute(sql`delete from ${table} where ctid = any(array(${batch}))`)).rowCount ?? 0
    })
    deleted += count
    if (count < batchSize) return deleted
  }
}
