import { sql, type SQL } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import type { Db } from './database.ts'

/**
 * Deletes the rows of `table` that match `where` in statements of `batchSize` rows, so that no lock or transaction lasts long. Returns
 * how many rows it deleted.
 */
export async function deleteInBatches(db: Db, table: PgTable, where: SQL, batchSize = 5_000): Promise<number> {
  let deleted = 0
  for (;;) {
    const batch = sql`select ctid from ${table} where ${where} limit ${batchSize}`
    const { rowCount } = await db.execute(sql`delete from ${table} where ctid = any(array(${batch}))`)
    deleted += rowCount ?? 0
    if ((rowCount ?? 0) < batchSize) return deleted
  }
}
