import type { Database, Db } from '../../../db/database.ts'
import { eq } from '../../../db/sql.ts'
import { squidDatabases, squidLogins } from '../tables.ts'

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

/** Deletes the rows of all logins of programs, but not their roles. */
export async function deleteAllLogins(db: Db): Promise<void> {
  await db.delete(squidLogins)
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
