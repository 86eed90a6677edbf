// Reads tables of other modules: squids. Deletes the logs of deleted versions.

import type { ClientBase } from 'pg'
import { dropDayPartitionsBefore } from '../../../db/day-partitions.ts'

/** Drops the days before `day` with all their lines and blocks. */
export async function dropLinesBefore(client: ClientBase, day: string): Promise<void> {
  await dropDayPartitionsBefore(client, 'log_lines', day)
  await client.query(`delete from log_blocks where max_at < ($1::text || ' 00:00Z')::timestamptz`, [day])
}

/** Deletes the rows of deleted versions; their lines are dropped with their days. */
export async function deleteLinesOfDeletedSquids(client: ClientBase): Promise<void> {
  await client.query('delete from log_blocks b where not exists (select from squids s where s.id = b.squid_id)')
  await client.query('delete from log_streams l where not exists (select from squids s where s.id = l.squid_id)')
}
