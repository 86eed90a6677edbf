import type { ClientBase } from 'pg'

/** For a table that is not partitioned. */
export async function deleteBefore(client: ClientBase, table: 'container_days' | 'ingress_days', day: string) {
  await client.query(`delete from ${table} where at < ($1::text || ' 00:00Z')::timestamptz`, [day])
}
