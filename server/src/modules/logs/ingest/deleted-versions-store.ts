// Reads tables of other modules: squids. Finds the versions that were deleted.

import type { ClientBase } from 'pg'
import type { Db } from '../../../db/database.ts'
import { sql } from '../../../db/sql.ts'

/**
 * Deletes the rows of deleted versions; their lines are dropped with their days. Returns the ids of these versions. `db` is the
 * database of the control plane.
 */
export async function deleteLinesOfDeletedSquids(client: ClientBase, db: Db): Promise<number[]> {
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
