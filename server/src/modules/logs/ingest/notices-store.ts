// Writes tables of other modules: squid_notices. Moves them to the logs.

import type { ClientBase } from 'pg'
import type { Db } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'

/** A message of Shoal for the log of a version. */
export type Notice = { id: number; squidId: number; atMs: number; container: string; message: string }

/** Returns the oldest messages of Shoal that are not in a log yet. `db` is the database of the control plane. */
export async function readNotices(client: ClientBase, db: Db, limit: number): Promise<Notice[]> {
  await deleteStoredNotices(client, db)
  const { rows } = await db.execute<Notice>(
    sql`select id, squid_id as "squidId", (extract(epoch from at) * 1000)::float8 as "atMs", container, message
        from squid_notices order by id limit ${limit}`,
  )
  return rows
}

/** Records that these notices are stored. Must run in the transaction that stores their lines. */
export async function recordStoredNotices(client: ClientBase, ids: number[]): Promise<void> {
  await client.query('insert into log_notices (id) select unnest($1::bigint[])', [ids])
}

/** Deletes the notices that are stored, and then the records of them. May be interrupted at any point. */
export async function deleteStoredNotices(client: ClientBase, db: Db): Promise<void> {
  const { rows } = await client.query<{ id: number }>('select id from log_notices')
  if (rows.length === 0) return
  const ids = rows.map(({ id }) => id)
  await db.execute(sql`delete from squid_notices where id = any(${sql.param(ids)}::bigint[])`)
  await client.query('delete from log_notices where id = any($1::bigint[])', [ids])
}
