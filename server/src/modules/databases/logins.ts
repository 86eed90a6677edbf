import { mapConcurrently } from '@shoal/runtime'
import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import type { DatabaseHost } from '../../db/database-hosts.ts'
import { limitConnectionsOf } from './connections.ts'
import {
  installationPrefix,
  namesWithPrefix,
  saveOwnerPassword,
  selectAllDatabases,
  selectSquidDatabase,
  type SquidDatabaseRow,
} from './database-store.ts'
import { connectionOf, forNewPrograms, type SquidConnection } from './database.ts'
import { loginPasswordOf, newPassword, ownerPasswordOf, passwordContext } from './passwords.ts'
import {
  closeLoginRole,
  deleteLogin,
  dropLoginRole,
  insertLogin,
  isLoginRole,
  loginRoleName,
  markClosed,
  mayCreateLogins,
  openLoginRole,
  ownerOfLogin,
  replacePassword,
  selectLogins,
  selectOpenLogins,
  type LoginRow,
} from './logins-store.ts'

const clusterOf = (app: App, { server }: { server: string }) => app.databaseHosts.get(server).cluster

/** The program that a login is for. */
type LoginUser = { workload: string; container: string }

/**
 * Records a separate login for a program that writes to the version's database, so that the login can be closed while the host of the
 * program does not respond. `open` creates its role. Returns null without a database.
 */
async function add(app: App, tx: Db, squidId: number, user: LoginUser): Promise<SquidConnection | null> {
  const database = await selectSquidDatabase(tx, squidId)
  if (!database) return null
  const password = newPassword()
  const sealedPassword = app.sealer.seal(password, passwordContext(squidId, 'login'))
  const { id } = await insertLogin(tx, { squidId, ...user, sealedPassword })
  return connectionOf(app, forNewPrograms(database), loginRoleName(database.role, id), password)
}

/** Creates the roles of the workload's open logins. If a role is new, sets the connection limits of all roles on its server. */
async function open(app: App, squidId: number, workload: string): Promise<void> {
  const logins = (await selectLogins(app.db, squidId)).filter((row) => row.workload === workload && !row.closedAt)
  const host = await openRoles(app, squidId, logins)
  if (host) await limitConnectionsOf(app, host)
}

/**
 * Permanently closes the logins of the version's programs for which `isAffected` returns true, so that no program can write with them.
 * Returns true if any of these logins was open.
 * @throws DatabaseError if Shoal's role may not close them
 */
async function close(app: App, squidId: number, isAffected: (user: LoginUser) => boolean): Promise<boolean> {
  const database = await selectSquidDatabase(app.db, squidId)
  if (!database) return false
  let wasOpen = false
  for (const row of await selectLogins(app.db, squidId)) {
    // If a login is marked as closed already, its role is closed again, because the worker that marked the login may have ended before
    // it closed the role.
    if (!row.closedAt && !isAffected(row)) continue
    await markClosed(app.db, row.id, app.clock.now())
    await closeLoginRole(clusterOf(app, database), loginRoleName(database.role, row.id))
    wasOpen ||= row.closedAt === null
  }
  return wasOpen
}

/** Drops the roles of the version's closed logins. Called when their programs have been abandoned. */
async function dropClosed(app: App, squidId: number): Promise<void> {
  const database = await selectSquidDatabase(app.db, squidId)
  if (!database) return
  for (const { id, closedAt } of await selectLogins(app.db, squidId)) {
    if (!closedAt) continue
    const login = loginRoleName(database.role, id)
    try {
      await dropLoginRole(clusterOf(app, database), database.database, login)
      await deleteLogin(app.db, id)
    } catch (error) {
      app.log.warn({ err: error, squidId, login }, 'a closed login could not be dropped and will be tried again')
    }
  }
}

/** Whether Shoal's role may create logins on the server of the version's database; true without a database. */
async function areAllowed(app: App, squidId: number): Promise<boolean> {
  const database = await selectSquidDatabase(app.db, squidId)
  return database === null || (await mayCreateLogins(clusterOf(app, database)))
}

/** Whether the program has its own login, open or closed, whose role was not dropped yet. */
const has = async (app: App, squidId: number, { workload, container }: LoginUser): Promise<boolean> =>
  (await selectLogins(app.db, squidId)).some((row) => row.workload === workload && row.container === container)

/** Returns functions that check whether a role is a login of one of the version's programs, and whether such a login is open. */
async function roleChecks(
  app: App,
  squidId: number,
): Promise<{ isLogin: (name: string) => boolean; isOpen: (name: string) => boolean }> {
  const database = await selectSquidDatabase(app.db, squidId)
  if (!database) return { isLogin: () => false, isOpen: () => false }
  const rows = (await selectLogins(app.db, squidId)).filter(({ closedAt }) => !closedAt)
  const openNames = new Set(rows.map(({ id }) => loginRoleName(database.role, id)))
  return { isLogin: (name) => isLoginRole(database.role, name), isOpen: (name) => openNames.has(name) }
}

/**
 * Makes the roles of a server match the recorded logins, for example after a restore of the squids' Postgres: opens missing logins, and
 * drops login roles that belong to no open login.
 */
async function reconcile(app: App, { name: server, cluster }: DatabaseHost): Promise<void> {
  const roles = new Set(await namesWithPrefix(cluster, `${await installationPrefix(app.db)}_`))
  const loginsByOwner = Map.groupBy(roles, (name) => ownerOfLogin(name) ?? '')
  const byVersion = Map.groupBy(await selectOpenLogins(app.db), ({ squidId }) => squidId)
  const opened: DatabaseHost[] = []
  for (const { squidId, role, database } of await selectAllDatabases(app.db, server)) {
    const logins = byVersion.get(squidId) ?? []
    const loginNames = new Set(logins.map(({ id }) => loginRoleName(role, id)))
    for (const name of loginsByOwner.get(role) ?? [])
      if (!loginNames.has(name)) {
        await closeLoginRole(cluster, name)
        await dropLoginRole(cluster, database, name)
      }
    const missing = logins.filter(({ id }) => !roles.has(loginRoleName(role, id)))
    const changed = await openRoles(app, squidId, missing)
    if (changed) opened.push(changed)
    if (opened.length === versionsPerLimit) await limitHosts(app, opened)
  }
  await limitHosts(app, opened)
}

/**
 * The limits are set once for this many versions with new logins: setting them reads all versions, but until then, programs cannot sign in with the
 * new logins.
 */
const versionsPerLimit = 100

/** Sets the limits of these servers, which are then removed from the list. */
async function limitHosts(app: App, hosts: DatabaseHost[]): Promise<void> {
  for (const host of new Set(hosts.splice(0))) await limitConnectionsOf(app, host)
}

/**
 * Creates the roles of logins, with which no program can sign in before the connection limits are set. Returns the server whose limits must be
 * set; null if no role is new.
 */
async function openRoles(app: App, squidId: number, logins: LoginRow[]): Promise<DatabaseHost | null> {
  const row = logins.length > 0 ? await selectSquidDatabase(app.db, squidId) : null
  if (!row) return null
  const database = forNewPrograms(row)
  const host = app.databaseHosts.get(database.server)
  let mustLimit = false
  for (const login of logins) {
    const needsLimit = await openLoginRole(host.cluster, {
      database: database.database,
      owner: database.role,
      login: loginRoleName(database.role, login.id),
      password: loginPasswordOf(app.sealer, login),
    })
    mustLimit ||= needsLimit
  }
  return mustLimit ? host : null
}

/**
 * Changes the password of the owner of each version's database, and ends the owner's sessions, so that programs that were started
 * with the old passwords can no longer write. `save` replaces other stored copies of a version's password, in the transaction
 * that saves the new one.
 * @throws DatabaseError if Shoal's role may not change a password; Error if sessions do not end
 */
async function renewOwnerPasswords(app: App, save: (tx: Db, renewed: RenewedPassword) => Promise<void>): Promise<void> {
  const renew = async (row: SquidDatabaseRow): Promise<void> => {
    const { squidId, role } = row
    const password = newPassword()
    await app.db.transaction(async (tx) => {
      await saveOwnerPassword(tx, squidId, app.sealer.seal(password, passwordContext(squidId, 'owner')))
      await save(tx, { squidId, oldPassword: ownerPasswordOf(app.sealer, row), password })
    })
    await replacePassword(clusterOf(app, row), role, password)
  }
  // A failure for one version must not leave the others with passwords that programs on another host know.
  const failures: unknown[] = []
  await mapConcurrently(await selectAllDatabases(app.db), maxConcurrent, (row) =>
    renew(row).catch((error: unknown) => void failures.push(error)),
  )
  if (failures.length > 0) throw failures[0]
}

const maxConcurrent = 4

type RenewedPassword = { squidId: number; oldPassword: string; password: string }

/** Manages the logins of programs that write to the databases of versions. */
export const logins = { add, open, close, dropClosed, areAllowed, has, roleChecks, reconcile, renewOwnerPasswords }
