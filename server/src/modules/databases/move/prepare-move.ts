import type { App } from '../../../app.ts'
import type { Db } from '../../../db/database.ts'
import type { DatabaseHost } from '../../../db/database-hosts.ts'
import { capacityOf, checkConnections } from '../connections.ts'
import { lockConnectionLimits, selectConnectionUsers, usersOn } from '../connections-store.ts'
import {
  countByServer,
  dropDatabaseAndRoles,
  ensureOwnedDatabase,
  ensureRole,
  namesWithPrefix,
  readServerSettings,
  setRoleSettings,
  type SquidDatabaseRow,
} from '../database-store.ts'
import { ownerWhileFull, rolesOn } from '../measuring/writers-store.ts'
import { ownerPasswordOf, readerPasswordOf } from '../passwords.ts'
import { limitTemporaryFiles } from '../temporary-files-store.ts'
import { connectAsOwner, joinNames, type DatabaseLocation } from './copy-database.ts'
import { isSameServer } from './copy-store.ts'
import { readRoleSettings } from './move-store.ts'
import { listExtensions, listUnsupported, missingExtensions } from './unsupported-store.ts'

/** What moves need from the app: the rows of databases, and the servers of both sides. */
export type MoveApp = Pick<App, 'db' | 'database' | 'databaseHosts' | 'sealer'>

/** The database cannot be moved. The message says why and what to do; nothing was changed. */
export class MoveRefused extends Error {
  override name = 'MoveRefused'
}

/** Returns the version's database, or its copy, on the server. */
export const locationOf = (app: MoveApp, row: SquidDatabaseRow, server: string): DatabaseLocation => ({
  cluster: app.databaseHosts.get(server).cluster,
  database: row.database,
  role: row.role,
  readRole: row.readRole,
  password: ownerPasswordOf(app.sealer, row),
})

/**
 * Checks everything that would make a move fail, before any program is stopped.
 * @throws MoveRefused; UnknownServer
 */
export async function checkMove(app: MoveApp, row: SquidDatabaseRow, server: string): Promise<void> {
  const target = app.databaseHosts.get(server)
  const source = app.databaseHosts.get(row.server)
  if (server === row.server) throw new MoveRefused(`The database is on the server "${server}" already.`)
  if (await isSameServer(source.cluster, target.cluster))
    throw new MoveRefused(`"${row.server}" and "${server}" are the same Postgres server.`)
  const [from, to] = [await readServerSettings(source.cluster), await readServerSettings(target.cluster)]
  if (Number(to.version) < Number(from.version))
    throw new MoveRefused(
      `"${server}" runs Postgres ${to.version}, which is older than Postgres ${from.version} of "${row.server}".`,
    )
  const roles = await namesWithPrefix(source.cluster, row.role)
  if (roles.includes(ownerWhileFull(row.role)))
    throw new MoveRefused('The database is full. Raise scale.addons.postgres.storage, deploy, and then move it.')
  await app.db.transaction((tx) => checkCapacity(app, tx, row, target))
  const client = await connectAsOwner(locationOf(app, row, row.server))
  try {
    const unsupported = await listUnsupported(client, row.role, row.readRole)
    if (unsupported.length > 0)
      throw new MoveRefused(`The database has objects that cannot be copied: ${joinNames(unsupported)}.`)
    const missing = await missingExtensions(target.cluster.pool, await listExtensions(client))
    if (missing.length > 0) {
      const names = missing.map(({ name, version }) => `${name} ${version}`)
      throw new MoveRefused(`"${server}" does not have these extensions of the database: ${joinNames(names)}.`)
    }
  } finally {
    await client.end()
  }
}

/**
 * Checks that the server has capacity and connections for another database. The lock that it acquires keeps the result valid until the
 * transaction ends.
 * @throws MoveRefused; NoConnections
 */
export async function checkCapacity(app: MoveApp, tx: Db, row: SquidDatabaseRow, target: DatabaseHost): Promise<void> {
  const limits = await capacityOf(app, target)
  await lockConnectionLimits(tx)
  const users = await selectConnectionUsers(tx)
  const user = users.find(({ squidId }) => squidId === row.squidId)
  const others = usersOn(users, target.name).filter(({ squidId }) => squidId !== row.squidId)
  const databases = (await countByServer(tx)).get(target.name) ?? 0
  const otherDatabases = user?.movingTo === target.name ? databases - 1 : databases
  if (target.maxDatabases !== null && otherDatabases >= target.maxDatabases)
    throw new MoveRefused(
      `"${target.name}" has no capacity for another database: its shoal_max_databases is ${target.maxDatabases}.`,
    )
  if (user) checkConnections({ ...user, server: target.name }, limits, others)
}

/** Removes what an earlier attempt left on the target, and creates an empty database with the roles of the source. */
export async function createTarget(app: MoveApp, row: SquidDatabaseRow, server: string): Promise<void> {
  await eraseCopy(app, row, server)
  const { cluster } = app.databaseHosts.get(server)
  const settings = await readRoleSettings(app.databaseHosts.get(row.server).cluster, row.role)
  await ensureRole(cluster, {
    name: row.role,
    password: ownerPasswordOf(app.sealer, row),
    canLogin: true,
    connectionLimit: Math.max(row.minConnections, minCopyConnections),
  })
  await ensureRole(cluster, {
    name: row.readRole,
    password: readerPasswordOf(app.sealer, row),
    canLogin: row.maxExternalConnections > 0,
    connectionLimit: row.maxExternalConnections,
  })
  await setRoleSettings(cluster, row.role, settings)
  await limitTemporaryFiles(cluster, row)
  await ensureOwnedDatabase(cluster, row.database, row.role, row.readRole)
}

/** Enough connections for the copy, even if the row of the database records no minimum. */
const minCopyConnections = 2

/**
 * Drops the copy that a move left on a server: the version's database and roles there. Does nothing if the row names this server, or
 * another address of it.
 * @throws DatabaseUnavailable if one of the servers does not respond
 */
export async function eraseCopy(app: MoveApp, row: SquidDatabaseRow, server: string): Promise<void> {
  const { cluster } = app.databaseHosts.get(server)
  if (row.server === server || (await isSameServer(app.databaseHosts.get(row.server).cluster, cluster))) return
  await dropDatabaseAndRoles(cluster, row.database, await rolesOn(cluster, row))
}
