// Reads tables of other modules: squids. Finds the versions that were deleted.

import type { ClientBase, Pool } from 'pg'
import type { Db } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'

/**
 * Deletes the streams, drops and blocks of deleted versions; their lines are dropped with their days. Returns the ids of these
 * versions. `db` is the database of the control plane.
 */
export async function deleteStreamsOfDeletedSquids(client: ClientBase, db: Db): Promise<number[]> {
  // Read before the versions: a version exists before it has lines.
  const streams = await client.query<{ squidId: number }>('select squid_id as "squidId" from log_streams')
  const ids = streams.rows.map(({ squidId }) => squidId)
  const { rows } = await db.execute<{ squidId: number }>(
    sql`select stream.id as "squidId" from unnest(${sql.param(ids)}::bigint[]) as stream (id)
        where not exists (select from squids s where s.id = stream.id)`,
  )
  const deletedIds = rows.map(({ squidId }) => squidId)
  if (deletedIds.length > 0)
    await client.query(
      `with streams as (delete from log_streams where squid_id = any($1::bigint[])),
       drops as (delete from log_drops where squid_id = any($1::bigint[]))
       delete from log_blocks where squid_id = any($1::bigint[])`,
      [deletedIds],
    )
  return deletedIds
}

/**
 * Deletes lines in a separate database of logs whose versions the control plane has not created yet, because the control plane was
 * restored from an earlier backup. Otherwise new versions, which may belong to other organizations, would show these lines as theirs. `db` is the
 * database of the control plane.
 */
export async function deleteLinesOfLaterSquids(logs: Pick<Pool, 'query'>, db: Db): Promise<void> {
  // Read before the last version of the control plane: a version exists before it has lines.
  const { rows } = await logs.query<{ last: number }>(
    `select coalesce(greatest((select max(squid_id) from log_streams), (select max(squid_id) from log_blocks),
       (select max(squid_id) from log_drops), (select max(squid_id) from log_lines)), 0)::int8 as last`,
  )
  const last = rows[0]?.last ?? 0
  const created = await db.execute<{ last: number }>(
    sql`select coalesce(pg_sequence_last_value(pg_get_serial_sequence('squids', 'id')::regclass), 0)::int8 as last`,
  )
  const lastCreated = created.rows[0]?.last ?? 0
  if (last <= lastCreated) return
  for (const table of ['log_streams', 'log_drops', 'log_blocks', 'log_lines'])
    await logs.query(`delete from ${table} where squid_id > $1 and squid_id <= $2`, [lastCreated, last])
}
