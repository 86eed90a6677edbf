// Reads tables of other modules: squids. Hibernated versions need fewer connections.

import { mapConcurrently } from '@shoal/runtime'
import { escapeIdentifier } from 'pg'
import { eq, sql } from '../../db/sql.ts'
import type { Database, Db } from '../../db/database.ts'
import { squids } from '../versions/index.ts'
import { isLocked, runUnblocked } from './blockers-store.ts'
import { selectOpenLogins } from './logins-store.ts'
import type { SquidDatabaseRow } from './database-store.ts'
import { squidDatabases } from './tables.ts'

/** Returns how many connections a Postgres of squids allows to roles that are not superusers (`max`), and how many are open. */
export async function clusterConnections(cluster: Database): Promise<{ max: number; open: number }> {
  const { rows } = await cluster.pool.query<{ max: number; open: number }>(
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as max,
       (select count(*) from pg_stat_activity where backend_type = 'client backend') as open`,
  )
  if (!rows[0]) throw new Error('Postgres returned no row')
  return rows[0]
}

/** A version with a database: its roles, and the bounds of their connection limits. A hibernated version runs no programs. */
export type ConnectionUser = Pick<
  SquidDatabaseRow,
  'squidId' | 'server' | 'role' | 'readRole' | 'minConnections' | 'maxConnections' | 'maxExternalConnections'
> & { isHibernated: boolean; movingTo?: string | null }

/** Returns all versions with a database. */
export async function selectConnectionUsers(db: Db): Promise<ConnectionUser[]> {
  const { squidId, server, movingTo, role, readRole, minConnections, maxConnections, maxExternalConnections } =
    squidDatabases
  return await db
    .select({
      squidId,
      server,
      movingTo,
      role,
      readRole,
      minConnections,
      maxConnections,
      maxExternalConnections,
      isHibernated: sql<boolean>`${squids.desiredState} = 'hibernated'`,
    })
    .from(squidDatabases)
    .innerJoin(squids, eq(squids.id, squidId))
}

/** Returns the versions whose database is on the server or is being moved to it. */
export const usersOn = (users: ConnectionUser[], name: string): ConnectionUser[] =>
  users.filter(({ server, movingTo }) => server === name || movingTo === name)

/** Returns the ids of the open logins of each version. */
export async function selectLoginIds(db: Db): Promise<Map<number, number[]>> {
  const rows = await selectOpenLogins(db)
  return new Map(
    [...Map.groupBy(rows, (row) => row.squidId)].map(([squidId, logins]) => [squidId, logins.map(({ id }) => id)]),
  )
}

/** Locks the connection limits until the transaction ends, so that only one worker computes and sets them. */
export async function lockConnectionLimits(db: Db): Promise<void> {
  await db.execute(sql`select pg_advisory_xact_lock(hashtextextended('shoal:connection-limits', 0))`)
}

/**
 * Sets the connection limits that have changed, by role. Then ends the connections that exceed the new limits, idle ones first,
 * because Postgres does not end open connections when a limit is lowered. Skips roles that do not exist.
 */
export async function setConnectionLimits(cluster: Database, limits: Map<string, number>): Promise<void> {
  const changed = (await readLimits(cluster, limits)).filter(({ role, limit }) => limits.get(role) !== limit)
  if (changed.length === 0) return
  await alterUnlocked(cluster, changed, limits)
  const remaining = (await readLimits(cluster, limits)).filter(({ role, limit }) => limits.get(role) !== limit)
  await mapConcurrently(remaining, maxConcurrent, async ({ role }) => {
    try {
      await runUnblocked(cluster, alterStatement(role, limits))
    } catch (error) {
      // The role keeps its limit until the next round, so that its tenant does not delay the deployments of others.
      if (!isLocked(error)) throw error
    }
  })
  await cluster.pool.query(
    `select pg_terminate_backend(pid) from (
       select pid, usename, row_number() over (partition by usename order by state = 'idle', backend_start) as position
       from pg_stat_activity where usename = any($1::text[]) and backend_type = 'client backend') open
     join unnest($1::text[], $2::int[]) as allowed (role, number) on role = usename where position > number`,
    [changed.map(({ role }) => role), changed.map(({ role }) => limits.get(role) ?? 0)],
  )
}

type RoleLimit = { role: string; limit: number }

async function readLimits(cluster: Database, limits: Map<string, number>): Promise<RoleLimit[]> {
  const { rows } = await cluster.pool.query<RoleLimit>(
    'select rolname as role, rolconnlimit as limit from pg_roles where rolname = any($1::text[])',
    [[...limits.keys()]],
  )
  return rows
}

const alterStatement = (role: string, limits: Map<string, number>): string =>
  `alter role ${escapeIdentifier(role)} connection limit ${limits.get(role) ?? 0}`

/** The time that roles which tenants have locked add to a change of all limits, for each of them. */
const skipLockedAfter = '20ms'
const maxConcurrent = 4

/**
 * Sends all changes in one round trip, since the limits of all versions change together. Skips roles whose limit cannot be set,
 * because a tenant may have locked its role.
 */
async function alterUnlocked(cluster: Database, changed: RoleLimit[], limits: Map<string, number>): Promise<void> {
  const attempts = changed.map(
    ({ role }) => `begin ${alterStatement(role, limits)}; exception when others then null; end;`,
  )
  const tag = '$shoal$'
  // Both statements are one transaction, because they are one message.
  await cluster.pool.query(
    `set local lock_timeout = '${skipLockedAfter}'; do ${tag} begin ${attempts.join(' ')} end ${tag}`,
  )
}
