import { randomBytes } from 'node:crypto'
import { DatabaseError, escapeIdentifier, escapeLiteral } from 'pg'
import { eq, sql } from '../../db/sql.ts'
import type { Database, Db } from '../../db/database.ts'
import { installation, squidDatabases } from './tables.ts'
import { runUnblocked } from './blockers-store.ts'
import { postgresMajor, revokePrivilegesElsewhere, withClient } from './tenant-client-store.ts'

/** The row of a version's database. */
export type SquidDatabaseRow = typeof squidDatabases.$inferSelect

const ident = escapeIdentifier
const literal = escapeLiteral

/**
 * Returns the prefix of the names of all databases and roles of this installation. The first call generates it; it never changes.
 */
export async function installationPrefix(db: Db): Promise<string> {
  await db
    .insert(installation)
    .values({ prefix: `sq_${randomBytes(4).toString('hex')}` })
    .onConflictDoNothing()
  const [row] = await db.select().from(installation)
  if (!row) throw new Error('The table installation is empty')
  return row.prefix
}

/**
 * Returns the id of the version that has the database or role `name`, which begins with `prefix`; null if the name contains no
 * id.
 */
export function squidIdOfName(name: string, prefix: string): number | null {
  const id = /^\d+/.exec(name.slice(prefix.length))?.[0]
  return id === undefined ? null : Number(id)
}

/** Returns the row of the version's database; null if it has none. */
export async function selectSquidDatabase(db: Db, squidId: number): Promise<SquidDatabaseRow | null> {
  const [row] = await db.select().from(squidDatabases).where(eq(squidDatabases.squidId, squidId))
  return row ?? null
}

/** Saves the sealed password of the owner. `replacePassword` sets it in Postgres. */
export async function saveOwnerPassword(db: Db, squidId: number, sealedPassword: string): Promise<void> {
  await db.update(squidDatabases).set({ sealedPassword }).where(eq(squidDatabases.squidId, squidId))
}

/** Returns the rows of all databases, or of those on one server. */
export const selectAllDatabases = (db: Db, server?: string): Promise<SquidDatabaseRow[]> =>
  db
    .select()
    .from(squidDatabases)
    .where(server === undefined ? undefined : eq(squidDatabases.server, server))

/** Counts the databases on each server, including those that are being moved to it. */
export async function countByServer(db: Db): Promise<Map<string, number>> {
  const { rows } = await db.execute<{ server: string; count: number }>(
    sql`select server, count(*)::int as count from (select server from squid_databases
          union all select moving_to from squid_databases where moving_to is not null) placed group by server`,
  )
  return new Map(rows.map(({ server, count }) => [server, count]))
}

/** Inserts or updates the row. Does not change the passwords and the server of an existing row. */
export async function saveSquidDatabase(db: Db, row: typeof squidDatabases.$inferInsert): Promise<SquidDatabaseRow> {
  const { version, profile, maxExternalConnections, totalBytes, minConnections, maxConnections } = row
  const { statementMs, idleInTransactionMs } = row
  const [saved] = await db
    .insert(squidDatabases)
    .values(row)
    .onConflictDoUpdate({
      target: squidDatabases.squidId,
      set: {
        version,
        profile,
        totalBytes,
        ...(statementMs === undefined ? {} : { statementMs }),
        ...(idleInTransactionMs === undefined ? {} : { idleInTransactionMs }),
        ...(minConnections === undefined ? {} : { minConnections }),
        ...(maxConnections === undefined ? {} : { maxConnections }),
        ...(maxExternalConnections === undefined ? {} : { maxExternalConnections }),
      },
    })
    .returning()
  if (!saved) throw new Error(`The database of squid ${row.squidId} was not saved`)
  return saved
}

/** Deletes the row of the version's database, with its logins. `dropDatabaseAndRoles` drops the database. */
export async function deleteSquidDatabase(db: Db, squidId: number): Promise<void> {
  await db.delete(squidDatabases).where(eq(squidDatabases.squidId, squidId))
}

/** Returns the highest id that was ever assigned to a version; 0 if there was none. */
export async function lastSquidId(db: Db): Promise<number> {
  const { rows } = await db.execute<{ last: number }>(
    sql`select coalesce(pg_sequence_last_value(pg_get_serial_sequence('squids', 'id')::regclass), 0)::int8 as last`,
  )
  return rows[0]?.last ?? 0
}

/** Returns those of `ids` whose version has a database on the server, or a copy that is being made. */
export async function idsWithDatabase(db: Db, ids: number[], server: string): Promise<Set<number>> {
  const { rows } = await db.execute<{ id: number }>(
    sql`select d.squid_id as id from squid_databases d where d.squid_id in ${ids} and ${server} in (d.server, d.moving_to)`,
  )
  return new Set(rows.map((row) => row.id))
}

type Role = {
  name: string
  password: string
  canLogin: boolean
  /** Applied to new roles only; `limitConnections` sets the limits of existing roles. */
  connectionLimit: number
}

/** Creates the role, or changes the password and the right to log in of an existing one. */
export async function ensureRole(cluster: Database, role: Role): Promise<void> {
  const attributes = `${role.canLogin ? 'login' : 'nologin'} password ${literal(role.password)}`
  const limit = `connection limit ${role.connectionLimit}`
  await ignoreError(duplicateObject, runUnblocked(cluster, `create role ${ident(role.name)} ${attributes} ${limit}`))
  await runUnblocked(cluster, `alter role ${ident(role.name)} ${attributes}`)
  const { rows } = await cluster.pool.query<{ super: boolean }>(
    'select rolsuper as super from pg_roles where rolname = current_user',
  )
  // Only a member of a role, or a superuser, may create databases for the role and grant privileges on its behalf.
  if (!rows[0]?.super) await runUnblocked(cluster, `grant ${ident(role.name)} to current_user`)
}

/** Creates the database if it is missing. Only its owner and `readRole` may connect. */
export async function ensureOwnedDatabase(
  cluster: Database,
  name: string,
  owner: string,
  readRole: string,
): Promise<void> {
  const existing = await cluster.pool.query('select 1 from pg_database where datname = $1', [name])
  if (existing.rowCount === 0)
    await ignoreError(
      duplicateDatabase,
      cluster.pool.query(`create database ${ident(name)} owner ${ident(owner)} template template0 encoding 'UTF8'`),
    )
  await runUnblocked(cluster, `revoke all on database ${ident(name)} from public`)
  await runUnblocked(cluster, `grant connect on database ${ident(name)} to ${ident(readRole)}`)
  await withClient(cluster, name, async (client) => {
    await client.query(`create schema if not exists public`)
    // Before Postgres 15 the schema belongs to the superuser, and every role may create objects in it.
    await client.query(`alter schema public owner to ${ident(owner)}`)
    await client.query(`revoke create on schema public from public`)
    await client.query(`grant usage on schema public to ${ident(readRole)}`)
    const forOwner = `alter default privileges for role ${ident(owner)}`
    await client.query(`${forOwner} grant usage on schemas to ${ident(readRole)}`)
    await client.query(`${forOwner} grant select on tables to ${ident(readRole)}`)
    await client.query(`${forOwner} grant select on sequences to ${ident(readRole)}`)
  })
}

/** Replaces all settings of the role, for new connections. Returns the names of the settings that Shoal's role may not set. */
export async function setRoleSettings(
  cluster: Database,
  role: string,
  settings: Record<string, string>,
): Promise<string[]> {
  await runUnblocked(cluster, `alter role ${ident(role)} reset all`)
  const rejected: string[] = []
  for (const [key, value] of Object.entries(settings))
    try {
      await runUnblocked(cluster, `alter role ${ident(role)} set ${ident(key)} = ${literal(value)}`)
    } catch (error) {
      // Some settings require a superuser; the version works without them.
      if (!needsSuperuser(error)) throw error
      rejected.push(key)
    }
  return rejected
}

/** Drops the database and the roles, if they exist, and ends the database's connections. */
export async function dropDatabaseAndRoles(cluster: Database, name: string, roles: string[]): Promise<void> {
  // Postgres does not drop template databases, and the owner of a database may have turned it into one. Other databases are not
  // altered, because Postgres ends the connection that alters a database whose drop was interrupted.
  const { rowCount } = await cluster.pool.query('select from pg_database where datname = $1 and datistemplate', [name])
  if (rowCount)
    await ignoreError(unknownDatabase, runUnblocked(cluster, `alter database ${ident(name)} is_template false`))
  await runUnblocked(cluster, `drop database if exists ${ident(name)} with (force)`)
  for (const role of roles) {
    await revokePrivilegesElsewhere(cluster, role, name)
    await runUnblocked(cluster, `drop role if exists ${ident(role)}`)
  }
}

/** Returns the names of databases and roles that begin with `prefix`. Uses LIKE, for which Postgres searches the indexes on names. */
export async function namesWithPrefix(cluster: Database, prefix: string): Promise<string[]> {
  const { rows } = await cluster.pool.query<{ name: string }>(
    `select datname as name from pg_database where datname like $1
     union select rolname from pg_roles where rolname like $1`,
    [`${prefix.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`],
  )
  return rows.map((row) => row.name)
}

/** Returns the major version of Postgres, and the settings that apply to the whole server. */
export async function readServerSettings(
  cluster: Database,
): Promise<{ version: string; locks: string; predLocks: string }> {
  const { rows } = await cluster.pool.query<{ locks: string; predLocks: string }>(
    `select current_setting('max_locks_per_transaction') as locks,
       current_setting('max_pred_locks_per_transaction') as "predLocks"`,
  )
  if (!rows[0]) throw new Error('Postgres returned no row')
  return { version: String(await postgresMajor(cluster.pool)), ...rows[0] }
}

/** Returns the names of the databases to which every role may connect. */
export async function publicDatabases(cluster: Database): Promise<string[]> {
  const { rows } = await cluster.pool.query<{ name: string }>(
    `select datname as name from pg_database where datallowconn and has_database_privilege('public', oid, 'connect')`,
  )
  return rows.map((row) => row.name)
}

/**
 * Revokes the privilege of `public`, which all roles have, to connect to the database. Returns false if all roles still may
 * connect.
 */
export async function revokePublicConnect(cluster: Database, name: string): Promise<boolean> {
  try {
    await cluster.pool.query(`revoke connect on database ${ident(name)} from public`)
  } catch {
    // Shoal's role lacks the privilege, or another installation changes it concurrently. The query below determines the result.
  }
  return !(await publicDatabases(cluster)).includes(name)
}

/** Whether the statement failed because Shoal's role is not a superuser, as is possible in an external Postgres. */
export const needsSuperuser = (error: unknown): boolean =>
  error instanceof DatabaseError && error.code === insufficientPrivilege

const insufficientPrivilege = '42501'
const duplicateObject = '42710'
const duplicateDatabase = '42P04'
const unknownDatabase = '3D000'

async function ignoreError(code: string, query: Promise<unknown>): Promise<void> {
  try {
    await query
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === code)) throw error
  }
}
