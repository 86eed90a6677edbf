import { sql } from 'drizzle-orm'
import type { ClientBase } from 'pg'
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

/** Runs SQL that a library generated, with `$1`, `$2` … for its values, in the transaction that `db` takes part in. */
export async function runText(db: Db, text: string, values: unknown[] = []): Promise<{ rows: unknown[] }> {
  const parts = text.split(/\$(\d+)/)
  const statement = parts.map((part, at) => (at % 2 === 0 ? sql.raw(part) : sql`${values[Number(part) - 1]}`))
  return await db.execute(sql.join(statement))
}
