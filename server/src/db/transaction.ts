import type { ClientBase } from 'pg'
import { sql } from './sql.ts'
import type { Db } from './database.ts'

/** Runs `work` in a transaction on this connection. */
export async function inTransaction<T>(client: ClientBase, work: () => Promise<T>): Promise<T> {
  await client.query('begin')
  try {
    const result = await work()
    await client.query('commit')
    return result
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

/** Executes SQL that a library generated, with `$1`, `$2` … as placeholders, in the current transaction of `db`. */
export async function executeSqlText(db: Db, text: string, values: unknown[] = []): Promise<{ rows: unknown[] }> {
  const parts = text.split(/\$(\d+)/)
  const statement = parts.map((part, index) => (index % 2 === 0 ? sql.raw(part) : sql`${values[Number(part) - 1]}`))
  return await db.execute(sql.join(statement))
}
