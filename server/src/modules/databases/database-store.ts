import { randomBytes } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import { Client, DatabaseError, escapeIdentifier, escapeLiteral } from 'pg'
import type { Database, Db } from '../../db/database.ts'
import { installation, squidDatabases } from './tables.ts'

export type SquidDatabaseRow = typeof squidDatabases.$inferSelect

const id = escapeIdentifier
const text = escapeLiteral

/** The prefix of the names of all databases and roles of this installation. Generated once, and never changed. */
export async function installationPrefix(db: Db): Promise<string> {
  await db
    .insert(installation)
    .values({ prefix: `sq_${randomBytes(4).toString('hex')}` })
    .onConflictDoNothing()
  const [row] = await db.select().from(installation)
  if (!row) throw new Error('The table installation is empty')
  return row.prefix
}

export async function selectSquidDatabase(db: Db, squidId: number): Promise<SquidDatabaseRow | null> {
  const [row] = await db.select().from(squidDatabases).where(eq(squidDatabases.squidId, squidId))
  return row ?? null
}

/** Inserts or updates the row. The passwords of an existing row are kept. */
export async function saveSquidDatabase(db: Db, row: typeof squidDatabases.$inferInsert): Promise<SquidDatabaseRow> {
  const { version, profile, maxExternalConnections, totalBytes } = row
  const [kept] = await db
    .insert(squidDatabases)
    .values(row)
    .onConflictDoUpdate({
      target: squidDatabases.squidId,
      set: {
        version,
        profile,
        totalBytes,
        ...(maxExternalConnections === undefined ? {} : { maxExternalConnections }),
      },
    })
    .returning()
  if (!kept) throw new Error(`No database was noted for squid ${row.squidId}`)
  return kept
}

export async function deleteSquidDatabase(db: Db, squidId: number): Promise<void> {
  await db.delete(squidDatabases).where(eq(squidDatabases.squidId, squidId))
}

/** The highest id a version has ever had. */
export async function lastSquidId(db: Db): Promise<number> {
  const { rows } = await db.execute<{ last: number }>(
    sql`select coalesce(pg_sequence_last_value(pg_get_serial_sequence('squids', 'id')::regclass), 0)::int8 as last`,
  )
  return rows[0]?.last ?? 0
}

/** The ids among these whose version has a row in `squid_databases`. */
export async function notedAmong(db: Db, ids: number[]): Promise<Set<number>> {
  const { rows } = await db.execute<{ id: number }>(
    sql`select d.squid_id as id from squid_databases d where d.squid_id in ${ids}`,
  )
  return new Set(rows.map((row) => row.id))
}

type Role = { name: string; password: string; canLogin: boolean; connectionLimit: number }

/** Creates the role, or changes an existing one to match. */
export async function ensureRole(cluster: Database, role: Role): Promise<void> {
  const attributes = `${role.canLogin ? 'login' : 'nologin'} password ${text(role.password)} connection limit ${role.connectionLimit}`
  await ignoring(duplicateObject, cluster.pool.query(`create role ${id(role.name)} ${attributes}`))
  await cluster.pool.query(`alter role ${id(role.name)} ${attributes}`)
  const { rows } = await cluster.pool.query<{ super: boolean }>(
    'select rolsuper as super from pg_roles where rolname = current_user',
  )
  // Creating a database for a role and granting privileges on its behalf require membership, which a superuser does not need.
  if (!rows[0]?.super) await cluster.pool.query(`grant ${id(role.name)} to current_user`)
}

/** Creates the database if it is missing. Only its owner and `readRole` may connect. */
export async function ensureOwnedDatabase(
  cluster: Database,
  name: string,
  owner: string,
  readRole: string,
): Promise<void> {
  const found = await cluster.pool.query('select 1 from pg_database where datname = $1', [name])
  if (found.rowCount === 0)
    await ignoring(
      duplicateDatabase,
      cluster.pool.query(`create database ${id(name)} owner ${id(owner)} template template0 encoding 'UTF8'`),
    )
  await cluster.pool.query(`revoke all on database ${id(name)} from public`)
  await cluster.pool.query(`grant connect on database ${id(name)} to ${id(readRole)}`)
  await within(cluster, name, async (client) => {
    await client.query(`create schema if not exists public`)
    // Before Postgres 15 the schema belongs to the superuser, and every role may create objects in it.
    await client.query(`alter schema public owner to ${id(owner)}`)
    await client.query(`revoke create on schema public from public`)
    await client.query(`grant usage on schema public to ${id(readRole)}`)
    const forOwner = `alter default privileges for role ${id(owner)}`
    await client.query(`${forOwner} grant usage on schemas to ${id(readRole)}`)
    await client.query(`${forOwner} grant select on tables to ${id(readRole)}`)
    await client.query(`${forOwner} grant select on sequences to ${id(readRole)}`)
  })
}

/** Replaces all settings of the role, with effect on new connections. Returns the settings that Shoal's role may not set. */
export async function setRoleSettings(
  cluster: Database,
  role: string,
  settings: Record<string, string>,
): Promise<string[]> {
  await cluster.pool.query(`alter role ${id(role)} reset all`)
  const refused: string[] = []
  for (const [key, value] of Object.entries(settings))
    try {
      await cluster.pool.query(`alter role ${id(role)} set ${id(key)} = ${text(value)}`)
    } catch (error) {
      // Some settings require a superuser; the version works without them.
      if (!(error instanceof DatabaseError && error.code === insufficientPrivilege)) throw error
      refused.push(key)
    }
  return refused
}

/** Drops the database and the roles, if they exist, and ends the database's connections. */
export async function dropDatabaseAndRoles(cluster: Database, name: string, roles: string[]): Promise<void> {
  await cluster.pool.query(`drop database if exists ${id(name)} with (force)`)
  for (const role of roles) await cluster.pool.query(`drop role if exists ${id(role)}`)
}

/** Databases and roles whose name begins with `prefix`. */
export async function namesWithPrefix(cluster: Database, prefix: string): Promise<string[]> {
  const { rows } = await cluster.pool.query<{ name: string }>(
    `select datname as name from pg_database where starts_with(datname, $1)
     union select rolname from pg_roles where starts_with(rolname, $1)`,
    [prefix],
  )
  return rows.map((row) => row.name)
}

/** The major version of Postgres, and the settings that apply to the whole cluster. */
export async function clusterFacts(cluster: Database): Promise<{ version: string; locks: string; predLocks: string }> {
  const { rows } = await cluster.pool.query<{ version: string; locks: string; predLocks: string }>(
    `select (current_setting('server_version_num')::int / 10000)::text as version,
       current_setting('max_locks_per_transaction') as locks,
       current_setting('max_pred_locks_per_transaction') as "predLocks"`,
  )
  if (!rows[0]) throw new Error('Postgres answered nothing')
  return rows[0]
}

/** Databases that every role may connect to. */
export async function openDatabases(cluster: Database): Promise<string[]> {
  const { rows } = await cluster.pool.query<{ name: string }>(
    `select datname as name from pg_database where datallowconn and has_database_privilege('public', oid, 'connect')`,
  )
  return rows.map((row) => row.name)
}

/** Revokes the right of every role to connect to the database. False when Shoal's role may not do that. */
export async function closeDatabase(cluster: Database, name: string): Promise<boolean> {
  try {
    await cluster.pool.query(`revoke connect on database ${id(name)} from public`)
  } catch {
    // The privilege is missing, or another installation changes it at the same moment: the check below decides.
  }
  return !(await openDatabases(cluster)).includes(name)
}

async function within(cluster: Database, name: string, work: (client: Client) => Promise<void>): Promise<void> {
  const url = new URL(cluster.url)
  url.pathname = `/${encodeURIComponent(name)}`
  const client = new Client({ connectionString: url.href, application_name: 'shoal' })
  // A connection that breaks fails the query that waits on it; without a listener it would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}

const insufficientPrivilege = '42501'
const duplicateObject = '42710'
const duplicateDatabase = '42P04'

async function ignoring(code: string, query: Promise<unknown>): Promise<void> {
  try {
    await query
  } catch (error) {
    if (!(error instanceof DatabaseError && error.code === code)) throw error
  }
}
