import type { Database, Db } from '../../../db/database.ts'
import { eq, sql } from '../../../db/sql.ts'
import { squidDatabases } from '../tables.ts'

/** Sets the server whose copy of the database new programs use; null: the server of the database. */
export async function saveMovingTo(db: Db, squidId: number, movingTo: string | null): Promise<void> {
  await db.update(squidDatabases).set({ movingTo }).where(eq(squidDatabases.squidId, squidId))
}

/** Changes the server of the database, at the end of a move. */
export async function saveServer(
  db: Db,
  squidId: number,
  { server, version }: { server: string; version: string },
): Promise<void> {
  await db.update(squidDatabases).set({ server, version, movingTo: null }).where(eq(squidDatabases.squidId, squidId))
}

/** Returns the settings of the role (`alter role … set`) by name. */
export async function readRoleSettings(cluster: Database, role: string): Promise<Record<string, string>> {
  const { rows } = await cluster.pool.query<{ settings: string[] | null }>(
    'select rolconfig as settings from pg_roles where rolname = $1',
    [role],
  )
  return Object.fromEntries((rows[0]?.settings ?? []).map(splitSetting))
}

/** Splits `key=value`. */
function splitSetting(setting: string): [string, string] {
  const separator = setting.indexOf('=')
  return [setting.slice(0, separator), setting.slice(separator + 1)]
}

/** Counts the databases on each server, and those that are being moved to it. */
export async function countPlacesByServer(db: Db): Promise<Map<string, number>> {
  const { rows } = await db.execute<{ server: string; count: number }>(
    sql`select server, count(*)::int as count from (
          select server from squid_databases
          union all select moving_to from squid_databases where moving_to is not null
        ) places group by server`,
  )
  return new Map(rows.map(({ server, count }) => [server, count]))
}
