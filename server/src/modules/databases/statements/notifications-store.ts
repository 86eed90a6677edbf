// Reads tables of other modules: squids. Limits of organizations apply to all their versions.

import { and, eq } from '../../../db/sql.ts'
import type { Database, Db } from '../../../db/database.ts'
import { squids } from '../../versions/index.ts'
import { tenantRoles } from '../blockers-store.ts'
import { squidDatabases } from '../tables.ts'

/** Returns the used share of the queue of notifications, from 0 to 1. Lets Postgres remove those that all sessions have read. */
export async function queueUsage(cluster: Database): Promise<number> {
  const { rows } = await cluster.pool.query<{ usage: number }>('select pg_notification_queue_usage() as usage')
  return rows[0]?.usage ?? 0
}

/**
 * Returns the process that has read the fewest notifications; null if Postgres does not name it. Postgres names it only in a warning to a
 * session that sends a notification while the queue is half full, and only once in five seconds.
 */
export async function slowestReader({ pool }: Database): Promise<number | null> {
  const client = await pool.connect()
  let pid: number | null = null
  const onNotice = ({ detail }: { detail?: string | undefined }) => {
    const number = /\d+/.exec(detail ?? '')?.[0]
    if (number !== undefined) pid = Number(number)
  }
  client.on('notice', onNotice)
  try {
    await client.query('notify shoal_queue')
  } catch (error) {
    // When the queue is full, the statement fails after the warning.
    if ((error as { code?: string }).code !== queueIsFull) throw error
  } finally {
    client.off('notice', onNotice)
    client.release()
  }
  return pid
}

const queueIsFull = '54000'

/**
 * Ends the session of a tenant, of any installation, if it is in a transaction or waits for its client to read notifications. Returns its
 * role; null if it does neither.
 */
export async function endReader(cluster: Database, pid: number): Promise<string | null> {
  const { rows } = await cluster.pool.query<{ role: string }>(
    `select usename as role, pg_terminate_backend(pid, 1000) from pg_stat_activity
     where pid = $1 and usename ~ $2 and backend_type = 'client backend' and (state <> 'idle' or wait_event = 'ClientWrite')`,
    [pid, tenantRoles],
  )
  return rows[0]?.role ?? null
}

/** Ends the sessions of tenants that are sending notifications: they have, or wait for, the lock that serializes the senders. */
export async function endSenders(cluster: Database): Promise<void> {
  await cluster.pool.query(
    `select pg_terminate_backend(pid) from pg_locks join pg_stat_activity using (pid)
     where locktype = 'object' and pg_locks.database = 0 and classid = 'pg_database'::regclass and objid = 0 and usename ~ $1`,
    [tenantRoles],
  )
}

/** Returns the databases of an organization on a server. */
export const selectDatabasesOfOrg = (
  db: Db,
  orgId: number,
  server: string,
): Promise<{ squidId: number; role: string; readRole: string }[]> =>
  db
    .select({ squidId: squidDatabases.squidId, role: squidDatabases.role, readRole: squidDatabases.readRole })
    .from(squidDatabases)
    .innerJoin(squids, eq(squids.id, squidDatabases.squidId))
    .where(and(eq(squids.orgId, orgId), eq(squidDatabases.server, server)))
