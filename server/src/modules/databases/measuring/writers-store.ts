import { escapeIdentifier, escapeLiteral, type Client } from 'pg'
import type { Database } from '../../../db/database.ts'
import { enforcedSettings } from '../database-config.ts'
import { namesWithPrefix, needsSuperuser } from '../database-store.ts'
import { isLoginRole } from '../logins-store.ts'
import { postgresMajor, revokePrivilegesElsewhere, withClient } from '../tenant-client-store.ts'
import { runUnblocked } from '../blockers-store.ts'

const ident = escapeIdentifier
const literal = escapeLiteral

/**
 * The name of the owner role while its database is full. Shoal renames the owner, so that it cannot log in, and creates a role with the
 * old name and password. The new role may only read and free space. The tenant therefore cannot lift the limit, and the owner
 * of the objects in the database does not change.
 */
export const ownerWhileFull = (role: string): string => `${role}_own`

/**
 * The tenant's access while the database is full. `delete`: read, delete rows, and truncate and vacuum tables. `read`: only read,
 * because the database has functions or rules, which could write when rows are deleted. `none`: no access, because the database
 * has functions that run with the rights of the owner, or other roles have privileges to write.
 */
export type AccessWhileFull = 'delete' | 'read' | 'none'

/** A database that is full, with its owner and its read-only role. */
export type FullDatabase = { database: string; role: string; readRole: string }

/** Returns the names of the roles that a version may have on a server: its logins, its reader and its owner. */
export async function rolesOn(
  cluster: Database,
  { role, readRole }: Pick<FullDatabase, 'role' | 'readRole'>,
): Promise<string[]> {
  const logins = (await namesWithPrefix(cluster, `${role}_l`)).filter((name) => isLoginRole(role, name))
  return [...logins, readRole, role, ownerWhileFull(role)]
}

/**
 * Revokes write access from all roles of the version and ends their connections. Returns the access that remains. After a failure
 * or an interruption, the owner cannot log in until `revokeWriteAccess` succeeds or `allowLogin` is called.
 */
export async function revokeWriteAccess(
  cluster: Database,
  { database, role, readRole }: FullDatabase,
  password: string,
): Promise<AccessWhileFull> {
  const owner = ownerWhileFull(role)
  await disableLogins(cluster, database, role)
  const access = await withClient(cluster, database, async (client) => {
    await client.query('begin')
    const logins = await loginsOf(client, role)
    const remaining = await accessOf(client, database, role, logins)
    const { limit, settings } = await readRoleLimits(client, role)
    for (const login of logins) await client.query(`revoke ${ident(role)} from ${ident(login)}`)
    await client.query(`alter role ${ident(role)} rename to ${ident(owner)}`)
    await client.query(`alter role ${ident(owner)} nologin`)
    const login = remaining === 'none' ? 'nologin' : 'login'
    await client.query(`create role ${ident(role)} ${login} password ${literal(password)} connection limit ${limit}`)
    for (const [key, value] of settings)
      await runIfPermitted(client, `alter role ${ident(role)} set ${ident(key)} = ${literal(value)}`)
    // The logins now act as the new role.
    for (const login of logins) {
      await client.query(`grant ${ident(role)} to ${ident(login)}`)
      if (remaining !== 'none') await client.query(`alter role ${ident(login)} login`)
    }
    if (remaining === 'none') await client.query(`alter role ${ident(readRole)} nologin`)
    else await grantReadAccess(client, database, role, remaining)
    // Without this, every role could write large objects.
    await setLargeObjectAccess(client, 'revoke')
    await client.query('commit')
    return remaining
  })
  await endConnections(cluster, database)
  return access
}

/** Restores write access. Can be repeated after a failure. @param isReaderAllowed whether the read-only role may log in */
export async function restoreWriteAccess(
  cluster: Database,
  { database, role, readRole }: FullDatabase,
  isReaderAllowed: boolean,
): Promise<void> {
  const owner = ownerWhileFull(role)
  await disableLogins(cluster, database, role)
  await revokePrivilegesElsewhere(cluster, role, database)
  await withClient(cluster, database, async (client) => {
    await client.query('begin')
    const { limit } = await readRoleLimits(client, role)
    const logins = await loginsOf(client, role)
    await client.query(`drop owned by ${ident(role)}`)
    await client.query(`drop role ${ident(role)}`)
    await client.query(`alter role ${ident(owner)} rename to ${ident(role)}`)
    await client.query(`alter role ${ident(role)} login connection limit ${limit}`)
    for (const login of logins) {
      await client.query(`grant ${ident(role)} to ${ident(login)}`)
      await client.query(`alter role ${ident(login)} login`)
    }
    if (isReaderAllowed) await client.query(`alter role ${ident(readRole)} login`)
    await setLargeObjectAccess(client, 'grant')
    await client.query('commit')
  })
  await endConnections(cluster, database)
}

/**
 * Prevents the role and its logins from logging in, and ends the tenant's connections to the database. Otherwise, open
 * transactions could hold locks for which the following statements would wait, or create functions after `accessOf` has searched
 * for functions.
 */
async function disableLogins(cluster: Database, database: string, role: string): Promise<void> {
  for (const name of [role, ...(await loginsOf(cluster.pool, role))])
    await runUnblocked(cluster, `alter role ${ident(name)} nologin`)
  await endConnections(cluster, database)
}

/** Allows the role and its logins to log in again, if `revokeWriteAccess` was interrupted and the database now has space. */
export async function allowLogin(cluster: Database, role: string): Promise<void> {
  for (const name of [role, ...(await loginsOf(cluster.pool, role))])
    await runUnblocked(cluster, `alter role ${ident(name)} login`)
}

/** Returns the login roles that may act as the role. Closed logins may not. */
async function loginsOf(connection: Pick<Client, 'query'>, role: string): Promise<string[]> {
  const { rows } = await connection.query<{ name: string }>(
    `select login.rolname as name from pg_auth_members m join pg_roles login on login.oid = m.member
     join pg_roles owner on owner.oid = m.roleid where owner.rolname = $1`,
    [role],
  )
  return [...new Set(rows.map(({ name }) => name))].filter((name) => isLoginRole(role, name))
}

const userSchemas = `nspname !~ '^pg_' and nspname <> 'information_schema'`
const isOfExtension = (oid: string, catalog: string) =>
  `exists (select from pg_depend d where d.classid = '${catalog}'::regclass and d.objid = ${oid} and d.deptype = 'e')`

async function accessOf(client: Client, database: string, role: string, logins: string[]): Promise<AccessWhileFull> {
  const { rows } = await client.query<{ hasOtherWriters: boolean; hasCode: boolean }>(
    `with own as (select oid from pg_roles where rolname = $2),
     schemas as (select * from pg_namespace where ${userSchemas}),
     relations as (select c.* from pg_class c join schemas on schemas.oid = c.relnamespace),
     functions as (select p.* from pg_proc p join schemas on schemas.oid = p.pronamespace
       where not ${isOfExtension('p.oid', 'pg_proc')})
     select (
       exists (select from functions where prosecdef)
       or exists (select from relations, aclexplode(relacl) a where a.grantee <> relowner and a.privilege_type <> 'SELECT')
       or exists (select from relations r join pg_attribute t on t.attrelid = r.oid, aclexplode(t.attacl) a
         where a.grantee <> r.relowner and a.privilege_type <> 'SELECT')
       or exists (select from schemas, aclexplode(nspacl) a where a.grantee <> nspowner and a.privilege_type = 'CREATE')
       or exists (select from pg_database, aclexplode(datacl) a
         where datname = $1 and a.grantee <> datdba and a.privilege_type <> 'CONNECT')
       or exists (select from pg_auth_members m join own on own.oid = m.roleid
         where m.member <> (select oid from pg_roles where rolname = current_user)
           and not m.member = any(select oid from pg_roles where rolname = any($3::text[])))
     ) as "hasOtherWriters",
     (exists (select from functions)
       or exists (select from pg_rewrite w join relations r on r.oid = w.ev_class where w.rulename <> '_RETURN')
     ) as "hasCode"`,
    [database, role, logins],
  )
  if (rows[0]?.hasOtherWriters !== false) return 'none'
  return rows[0].hasCode ? 'read' : 'delete'
}

async function grantReadAccess(client: Client, database: string, role: string, access: AccessWhileFull): Promise<void> {
  await client.query(`grant connect on database ${ident(database)} to ${ident(role)}`)
  const schemas = await client.query<{ name: string }>(`select nspname as name from pg_namespace where ${userSchemas}`)
  for (const { name } of schemas.rows) {
    const inSchema = `in schema ${ident(name)} to ${ident(role)}`
    await client.query(`grant usage on schema ${ident(name)} to ${ident(role)}`)
    for (const kind of ['tables', 'sequences']) await client.query(`grant select on all ${kind} ${inSchema}`)
    await client.query(`grant execute on all routines ${inSchema}`)
  }
  if (access !== 'delete') return
  const privileges = (await postgresMajor(client)) >= 17 ? 'delete, truncate, maintain' : 'delete, truncate'
  // Excludes materialized views, because a refresh may need any amount of space.
  const tables = await client.query<{ name: string }>(
    `select format('%I.%I', nspname, relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where relkind in ('r', 'p') and ${userSchemas}`,
  )
  for (const { name } of tables.rows) await client.query(`grant ${privileges} on ${name} to ${ident(role)}`)
}

/** Returns the role's connection limit, and its settings that Shoal has set. */
async function readRoleLimits(client: Client, role: string): Promise<{ limit: number; settings: [string, string][] }> {
  const { rows } = await client.query<{ limit: number; settings: string[] | null }>(
    'select rolconnlimit as limit, rolconfig as settings from pg_roles where rolname = $1',
    [role],
  )
  const pairs = (rows[0]?.settings ?? []).map((setting): [string, string] => {
    const separator = setting.indexOf('=')
    return [setting.slice(0, separator), setting.slice(separator + 1)]
  })
  return { limit: rows[0]?.limit ?? -1, settings: pairs.filter(([key]) => enforcedSettings.includes(key)) }
}

const largeObjectFunctions = [
  'lo_creat(integer)',
  'lo_create(oid)',
  'lo_from_bytea(oid, bytea)',
  'lo_put(oid, bigint, bytea)',
  'lowrite(integer, bytea)',
]

async function setLargeObjectAccess(client: Client, action: 'grant' | 'revoke'): Promise<void> {
  const list = largeObjectFunctions.map((name) => `pg_catalog.${name}`).join(', ')
  await runIfPermitted(client, `${action} execute on function ${list} ${action === 'grant' ? 'to' : 'from'} public`)
}

/** Runs a statement that may require a superuser; in an external Postgres, Shoal's role may not be one. */
async function runIfPermitted(client: Client, statement: string): Promise<void> {
  await client.query('savepoint permitted')
  try {
    await client.query(statement)
  } catch (error) {
    if (!needsSuperuser(error)) throw error
    await client.query('rollback to savepoint permitted')
  }
}

/**
 * Ends the tenant's connections to the database, because open connections have the rights of the role as which they logged in.
 * Waits up to five seconds for the end of each.
 */
async function endConnections(cluster: Database, database: string): Promise<void> {
  await cluster.pool.query(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity
     where datname = $1 and pid <> pg_backend_pid() and usename is distinct from current_user`,
    [database],
  )
}
