// Reads tables of other modules: squids. Limits of organizations apply to all their versions.

import { and, inArray, isNull } from '../../../db/sql.ts'
import type { Database, Db } from '../../../db/database.ts'
import { squids } from '../../versions/index.ts'
import { squidDatabases } from '../tables.ts'

/** A session of a tenant that has run one statement, or has been idle in a transaction, for at least a given time. */
export type LongSession = {
  pid: number
  role: string
  /** Identifies the session together with `pid`, which may be reused. */
  startedAt: string
  /** Identifies the statement or the idle period within the session. */
  since: string
  elapsedMs: number
  isIdle: boolean
  /** Whether the statement builds or changes tables or indexes, vacuums, or copies rows. */
  isMaintenance: boolean
}

/** Table locks that only maintenance statements (or `lock table`) acquire. Queries and changes of rows acquire weaker locks. */
const strongLocks = [
  'ShareUpdateExclusiveLock',
  'ShareLock',
  'ShareRowExclusiveLock',
  'ExclusiveLock',
  'AccessExclusiveLock',
]

const columns = `a.pid, a.usename as role, extract(epoch from a.backend_start)::text as "startedAt",
  extract(epoch from case when starts_with(a.state, 'idle') then a.state_change else a.query_start end)::text as since`

/** Returns the sessions of roles with this prefix whose statement, or idle transaction, has lasted for at least `minMs`. */
export async function selectLongSessions(cluster: Database, rolePrefix: string, minMs: number): Promise<LongSession[]> {
  const { rows } = await cluster.pool.query<LongSession>(
    `with backends as materialized (
       select ${columns}, starts_with(a.state, 'idle') as "isIdle",
         (extract(epoch from clock_timestamp() - case when starts_with(a.state, 'idle') then a.state_change else a.query_start end) * 1000)::float8 as "elapsedMs"
       from pg_stat_activity a
       where a.backend_type = 'client backend' and starts_with(a.usename, $1)
         and a.state in ('active', 'fastpath function call', 'idle in transaction', 'idle in transaction (aborted)'))
     select *, exists (select from pg_stat_progress_copy p where p.pid = backends.pid)
       or exists (select from pg_locks l where l.pid = backends.pid and l.locktype = 'relation' and l.granted and l.mode = any($3::text[])) as "isMaintenance"
     from backends where "elapsedMs" >= $2`,
    [rolePrefix, minMs, strongLocks],
  )
  return rows
}

/** Cancels the statement, or ends the session. Returns false if the statement or the idle period has ended in the meantime. */
export async function endSession(
  cluster: Database,
  { pid, startedAt, since }: Pick<LongSession, 'pid' | 'startedAt' | 'since'>,
  action: 'cancel' | 'terminate',
): Promise<boolean> {
  const { rowCount } = await cluster.pool.query(
    `select pg_${action}_backend(pid) from (select ${columns} from pg_stat_activity a where a.pid = $1) session
     where "startedAt" = $2 and since = $3`,
    [pid, startedAt, since],
  )
  return rowCount === 1
}

/** `SessionLimits` of a version; null if its last deployment did not record them. `role`: the owner of its database. */
export type RecordedLimits = {
  squidId: number
  role: string
  statementMs: number | null
  idleInTransactionMs: number | null
}

/** Returns the limits of versions, except those whose database is moved: a copy may take longer than any statement of a program. */
export async function selectLimits(db: Db, squidIds: number[]): Promise<RecordedLimits[]> {
  const { squidId, role, statementMs, idleInTransactionMs } = squidDatabases
  return await db
    .select({ squidId, role, statementMs, idleInTransactionMs })
    .from(squidDatabases)
    .where(and(inArray(squidId, squidIds), isNull(squidDatabases.movingTo)))
}

/** Returns the organizations of versions. */
export const selectOrgIds = (db: Db, squidIds: number[]): Promise<{ id: number; orgId: number }[]> =>
  db.select({ id: squids.id, orgId: squids.orgId }).from(squids).where(inArray(squids.id, squidIds))
