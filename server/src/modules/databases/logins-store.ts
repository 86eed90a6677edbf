import { randomBytes } from 'node:crypto'
import { escapeIdentifier, escapeLiteral } from 'pg'
import { setTimeout as delay } from 'node:timers/promises'
import type { Database, Db } from '../../db/database.ts'
import { and, eq, isNull } from '../../db/sql.ts'
import { ensureRole, needsSuperuser, setRoleSettings } from './database-store.ts'
import { readRoleSettings } from './move/move-store.ts'
import { squidLogins } from './tables.ts'
import { revokePrivilegesElsewhere, withClient } from './tenant-client-store.ts'
import { runUnblocked } from './blockers-store.ts'

const ident = escapeIdentifier
const literal = escapeLiteral

export type LoginRow = typeof squidLogins.$inferSelect

/** A login role of a version's database, and the role that owns the database. */
export type LoginRole = { database: string; owner: string; login: string; password: string }

/**
 * The number of consecutive checks without a session after which a closed role is considered to have none. One check is not
 * enough, because a session that is still signing in is not visible yet.
 */
const requiredEmptyChecks = 2
const checkIntervalMs = 100
const closeTimeoutMs = 30_000

/** Returns the name of a login role: `<owner>_l<id>`. `isLoginRole` checks whether a name has this form for this owner. */
export const loginRoleName = (owner: string, id: number): string => `${owner}_l${id}`
export const isLoginRole = (owner: string, name: string): boolean => ownerOfLogin(name) === owner

/** Returns the owner in the name of a login role; null for any other name. */
export const ownerOfLogin = (name: string): string | null => /^(.*)_l\d+$/.exec(name)?.[1] ?? null

/** Records a login, and returns its row with the generated id. */
export async function insertLogin(db: Db, row: typeof squidLogins.$inferInsert): Promise<LoginRow> {
  const [saved] = await db.insert(squidLogins).values(row).returning()
  if (!saved) throw new Error(`The login of squid ${row.squidId} was not saved`)
  return saved
}

/** Returns the open and closed logins of the version, oldest first. */
export const selectLogins = (db: Db, squidId: number): Promise<LoginRow[]> =>
  db.select().from(squidLogins).where(eq(squidLogins.squidId, squidId)).orderBy(squidLogins.id)

/** Returns the open logins of all versions. */
export const selectOpenLogins = (db: Db): Promise<LoginRow[]> =>
  db.select().from(squidLogins).where(isNull(squidLogins.closedAt))

/** Marks a login as closed; it is never opened again. */
export async function markClosed(db: Db, id: number, at: Date): Promise<void> {
  await db
    .update(squidLogins)
    .set({ closedAt: at })
    .where(and(eq(squidLogins.id, id), isNull(squidLogins.closedAt)))
}

/** Deletes the rows of all logins of the version. Does not drop their roles. */
export async function deleteLogins(db: Db, squidId: number): Promise<void> {
  await db.delete(squidLogins).where(eq(squidLogins.squidId, squidId))
}

/** Deletes the row of a login. Does not drop its role. */
export async function deleteLogin(db: Db, id: number): Promise<void> {
  await db.delete(squidLogins).where(eq(squidLogins.id, id))
}

/**
 * Creates a role whose sessions act as the owner of the database, so that the owner owns the objects that they create. Does
 * nothing if the role can log in already. Returns whether the role's connection limit must be set, as for a new role.
 * @throws DatabaseError if Shoal's role may not create such roles
 */
export async function openLoginRole(
  cluster: Database,
  { database, owner, login, password }: LoginRole,
): Promise<boolean> {
  type Role = { name: string; canLogin: boolean; connections: number }
  const { rows } = await cluster.pool.query<Role>(
    `select rolname as name, rolcanlogin as "canLogin", rolconnlimit as connections
     from pg_roles where rolname = any($1)`,
    [[login]],
  )
  const existing = rows.find(({ name }) => name === login)
  if (existing?.canLogin) return existing.connections === 0
  // The role may log in only when it is complete. Without the setting `role`, it would own the objects that it creates.
  await ensureRole(cluster, { name: login, password, canLogin: false, connectionLimit: 0 })
  await runUnblocked(cluster, `alter role ${ident(login)} noinherit`)
  await runUnblocked(cluster, `grant ${ident(owner)} to ${ident(login)}`)
  await runUnblocked(cluster, `grant connect on database ${ident(database)} to ${ident(login)}`)
  await setRoleSettings(cluster, login, await readRoleSettings(cluster, owner))
  await runUnblocked(cluster, `alter role ${ident(login)} set role = ${literal(owner)}`)
  await runUnblocked(cluster, `alter role ${ident(login)} login`)
  return true
}

/**
 * Whether Shoal's role may do what `openLoginRole` and `closeLoginRole` do: tries their changes to roles, and rolls them back.
 */
export async function mayCreateLogins(cluster: Database): Promise<boolean> {
  const [owner, login] = ['owner', 'login'].map((name) => ident(`shoal_try_${name}_${randomBytes(6).toString('hex')}`))
  const client = await cluster.pool.connect()
  try {
    await client.query('begin')
    await client.query(`create role ${owner} nologin`)
    await client.query(`create role ${login} nologin noinherit`)
    await client.query(`grant ${owner} to ${login}`)
    await client.query(`alter role ${login} set role = ${owner}`)
    await client.query(`revoke ${owner} from ${login}`)
    return true
  } catch (error) {
    if (!needsSuperuser(error)) throw error
    return false
  } finally {
    await client.query('rollback')
    client.release()
  }
}

/**
 * Prevents the role from logging in and acting as the owner, and ends its sessions, whose transactions are rolled back. Afterwards, no
 * program that has only this login can write. Does nothing if the role does not exist.
 * @throws DatabaseError if Shoal's role may not change the role; Error if the sessions do not end
 */
export async function closeLoginRole(cluster: Database, login: string): Promise<void> {
  const { rowCount } = await cluster.pool.query('select from pg_roles where rolname = $1', [login])
  if (rowCount === 0) return
  await runUnblocked(cluster, `alter role ${ident(login)} nologin`)
  const granted = await cluster.pool.query<{ name: string }>(
    `select roleid::regrole::text as name from pg_auth_members where member = $1::text::regrole`,
    [ident(login)],
  )
  for (const { name } of granted.rows) await runUnblocked(cluster, `revoke ${name} from ${ident(login)}`)
  await endSessions(cluster, login)
}

/**
 * Replaces the password of the role, and ends its sessions, whose transactions are rolled back. Afterwards, no program that has only the
 * old password can write. Does nothing if the role does not exist.
 * @throws DatabaseError if Shoal's role may not change the role; Error if the sessions do not end
 */
export async function replacePassword(cluster: Database, role: string, password: string): Promise<void> {
  const { rowCount } = await cluster.pool.query('select from pg_roles where rolname = $1', [role])
  if (rowCount === 0) return
  await runUnblocked(cluster, `alter role ${ident(role)} password ${literal(password)}`)
  await endSessions(cluster, role)
}

async function endSessions(cluster: Database, role: string): Promise<void> {
  const deadline = performance.now() + closeTimeoutMs
  for (let emptyChecks = 0; emptyChecks < requiredEmptyChecks;) {
    const ended = await cluster.pool.query(
      'select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = $1',
      [role],
    )
    emptyChecks = ended.rowCount === 0 ? emptyChecks + 1 : 0
    if (performance.now() > deadline) throw new Error(`Sessions of ${role} do not end`)
    if (emptyChecks < requiredEmptyChecks) await delay(checkIntervalMs)
  }
}

/**
 * Drops a closed role. Transfers the objects that the role owns (its sessions may have stopped acting as the owner) to the owner of the
 * database.
 */
export async function dropLoginRole(cluster: Database, database: string, login: string): Promise<void> {
  const { rows } = await cluster.pool.query<{ owner: string }>(
    `select pg_get_userbyid(datdba) as owner from pg_database, pg_roles where datname = $1 and rolname = $2`,
    [database, login],
  )
  await revokePrivilegesElsewhere(cluster, login, database)
  for (const { owner } of rows)
    await withClient(cluster, database, async (client) => {
      await client.query(`reassign owned by ${ident(login)} to ${ident(owner)}`)
      await client.query(`drop owned by ${ident(login)}`)
    })
  await runUnblocked(cluster, `drop role if exists ${ident(login)}`)
}
