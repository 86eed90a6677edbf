import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import type { Db } from '../../db/database.ts'
import { onEveryHost, onRespondingHosts, type DatabaseHost } from '../../db/database-hosts.ts'
import { limitConnectionsOf } from './connections.ts'
import { databaseSettings } from './database-config.ts'
import {
  revokePublicConnect,
  dropDatabaseAndRoles,
  ensureOwnedDatabase,
  ensureRole,
  deleteSquidDatabase,
  installationPrefix,
  lastSquidId,
  namesWithPrefix,
  saveSquidDatabase,
  publicDatabases,
  selectSquidDatabase,
  setRoleSettings,
  squidIdOfName,
  idsWithDatabase,
  type SquidDatabaseRow,
} from './database-store.ts'
import { type Contexts, type Variables, type SquidPlan, billedProfile } from '../manifest/index.ts'
import { deleteLogins } from './logins-store.ts'
import { enforceStorage } from './measuring/observe-databases.ts'
import { measureDatabases } from './measuring/measure-store.ts'
import { rolesOn } from './measuring/writers-store.ts'
import { eraseCopy } from './move/prepare-move.ts'
import { chooseServer, readCandidates } from './placement.ts'
import { newPassword, ownerPasswordOf, passwordContext, readerPasswordOf } from './passwords.ts'
import { connectionRange } from './resources.ts'
import { limitTemporaryFiles } from './temporary-files-store.ts'

/** The maximum number of external connections if the manifest does not set one. The documentation recommends fewer than 10. */
const defaultExternalConnections = 10

type DesiredDatabase = {
  squidId: number
  plan: SquidPlan
  isPlayground: boolean
  /** Runs `work`, which saves the row, in a transaction; by default in a new one. */
  inTransaction?: <T>(work: (tx: Db) => Promise<T>) => Promise<T>
}

/**
 * Creates or updates the version's database and roles as its manifest requests. It is idempotent and may be interrupted at any
 * point. Returns warnings about settings of the manifest that cannot be applied.
 * @throws NoConnections when no server has capacity or enough connections; InvalidManifest for a duration that is too long;
 * DatabaseUnavailable when the server of the database, or every server, does not respond
 */
export async function syncDatabase(app: App, desired: DesiredDatabase): Promise<string[]> {
  const { squidId, plan, isPlayground, inTransaction = (work) => app.db.transaction(work) } = desired
  const { postgres } = plan
  if (!postgres) return []
  const names = await databaseNames(app, squidId)
  const maxStatementMs = minutes(app.config.SHOAL_SQUIDS_STATEMENT_MINUTES)
  const maxExternalConnections = isPlayground ? 0 : (postgres.maxExternalConnections ?? defaultExternalConnections)
  const newRow = {
    squidId,
    ...names,
    sealedPassword: app.sealer.seal(newPassword(), passwordContext(squidId, 'owner')),
    sealedReadPassword: app.sealer.seal(newPassword(), passwordContext(squidId, 'reader')),
    profile: billedProfile(postgres.profile, plan.isDedicated),
    maxExternalConnections,
    totalBytes: postgres.totalBytes,
    ...connectionRange(postgres.profile, plan),
  }
  // If the control plane was restored from an older backup, a version that no longer exists may have left a database with this
  // name.
  if (!(await selectSquidDatabase(app.db, squidId))) await eraseDatabase(app, squidId)
  const candidates = await readCandidates(app, squidId, plan.isDedicated)
  const { row, host, settings, warnings } = await inTransaction(async (tx) => {
    const { host, serverSettings } = await chooseServer(tx, candidates, { ...newRow, isHibernated: false })
    const { limits, ...rest } = databaseSettings(postgres, { ...serverSettings, maxStatementMs })
    const saved = { ...newRow, ...limits, server: host.name, version: serverSettings.version }
    return { row: await saveSquidDatabase(tx, saved), host, ...rest }
  })
  const { cluster } = host
  const [measurement] = await measureDatabases(cluster, [row])
  if (measurement?.isFull && (await enforceStorage(app, row, measurement)))
    return [
      ...warnings,
      'The database is full, so nothing can write to it. Delete rows, raise scale.addons.postgres.storage, or deploy with a hard reset.',
    ]
  await ensureRole(cluster, {
    name: row.role,
    password: ownerPasswordOf(app.sealer, row),
    canLogin: true,
    connectionLimit: row.minConnections,
  })
  await ensureRole(cluster, {
    name: row.readRole,
    password: readerPasswordOf(app.sealer, row),
    canLogin: maxExternalConnections > 0,
    connectionLimit: maxExternalConnections,
  })
  await ensureOwnedDatabase(cluster, row.database, row.role, row.readRole)
  const rejected = await setRoleSettings(cluster, row.role, settings)
  await limitTemporaryFiles(cluster, row)
  await limitConnectionsOf(app, host)
  return [...warnings, ...rejected.map((key) => `${key} cannot be set in this installation's Postgres.`)]
}

/**
 * Deletes the version's data; does nothing if there is none. Keeps the passwords for the database that `syncDatabase` creates
 * next. Without a row, deletes the databases and roles that earlier versions with this id left on the servers. If there are
 * several servers, skips those that do not respond, because `dropOrphanedDatabases` deletes what is left on them.
 */
export async function eraseDatabase(app: App, squidId: number): Promise<void> {
  const row = await selectSquidDatabase(app.db, squidId)
  if (row) await eraseOn(app, app.databaseHosts.get(row.server), squidId)
  else if (app.databaseHosts.all.length === 1)
    await onEveryHost(app.databaseHosts, (host) => eraseOn(app, host, squidId))
  else await onRespondingHosts(app.databaseHosts, (host) => eraseOn(app, host, squidId))
}

async function eraseOn(app: App, { cluster }: DatabaseHost, squidId: number): Promise<void> {
  const { database, role, readRole } = await databaseNames(app, squidId)
  const roles = await rolesOn(cluster, { role, readRole })
  await deleteLogins(app.db, squidId)
  await dropDatabaseAndRoles(cluster, database, roles)
}

/** Deletes the version's database and its row; does nothing if there is none. */
export async function dropDatabase(app: App, squidId: number): Promise<void> {
  await eraseDatabase(app, squidId)
  await deleteSquidDatabase(app.db, squidId)
}

/** The address and the credentials with which a program or a user connects to a version's database. */
export type SquidConnection = NonNullable<Contexts['addons']['postgres']>

/** Returns the connection with which new programs use the version's database, as its owner; null without a database. */
export async function ownerConnection(app: App, squidId: number): Promise<SquidConnection | null> {
  const row = await selectSquidDatabase(app.db, squidId)
  return row && connectionOf(app, forNewPrograms(row), row.role, ownerPasswordOf(app.sealer, row))
}

/** Returns the row with the server that new programs use: while the database is moved, the server of its copy. */
export const forNewPrograms = (row: SquidDatabaseRow): SquidDatabaseRow => ({
  ...row,
  server: row.movingTo ?? row.server,
})

/** Returns the read-only connection for users; null without a database, or if external access is not allowed. */
export async function readerConnection(app: App, squidId: number): Promise<SquidConnection | null> {
  const row = await selectSquidDatabase(app.db, squidId)
  if (!row || row.maxExternalConnections === 0) return null
  const password = readerPasswordOf(app.sealer, row)
  return connectionOf(app, row, row.readRole, password)
}

/** Returns the environment variables for a connection, all named `DB_*`. */
export const databaseVariables = (c: SquidConnection): Variables => ({
  DB_HOST: c.host,
  DB_PORT: String(c.port),
  DB_NAME: c.database,
  DB_USER: c.user,
  DB_PASS: c.password,
  DB_SSL: String(new URL(c.url).searchParams.has('sslmode')),
  DB_URL: c.url,
})

/**
 * Drops databases and roles of deleted versions, and those that a move left on a server. Returns the ids of their versions. Does not
 * drop databases with an id above the highest one that was ever assigned: in that case, Shoal's database was restored from a backup,
 * and these databases belong to versions that were created after the backup.
 */
export async function dropOrphanedDatabases(app: App): Promise<number[]> {
  const orphans = await onEveryHost(app.databaseHosts, (host) => dropOrphansOn(app, host))
  return [...new Set(orphans.flat())]
}

async function dropOrphansOn(app: App, host: DatabaseHost): Promise<number[]> {
  const prefix = `${await installationPrefix(app.db)}_`
  const names = await namesWithPrefix(host.cluster, prefix)
  const ids = new Set(names.flatMap((name) => squidIdOfName(name, prefix) ?? []))
  const lastId = await lastSquidId(app.db)
  const candidates = [...ids].filter((id) => Number.isSafeInteger(id) && id <= lastId)
  if (candidates.length === 0) return []
  const inUse = await idsWithDatabase(app.db, candidates, host.name)
  const orphans = candidates.filter((id) => !inUse.has(id))
  for (const id of orphans) {
    // A move to this server may have begun since.
    if ((await idsWithDatabase(app.db, [id], host.name)).has(id)) continue
    const row = await selectSquidDatabase(app.db, id)
    if (row) await eraseCopy(app, row, host.name)
    else await eraseOn(app, host, id)
  }
  return orphans
}

/**
 * Prevents the roles of versions on a server from connecting to Shoal's own databases. Returns the databases that stay open to
 * every role, for a warning to operators who share a Postgres with other programs.
 */
export async function restrictShoalDatabases(app: App, { cluster }: DatabaseHost): Promise<string[]> {
  const shoalDatabases = new Set(['postgres', 'template1', databaseOf(app.database.url), databaseOf(cluster.url)])
  const stillOpen: string[] = []
  for (const name of await publicDatabases(cluster))
    if (!shoalDatabases.has(name) || !(await revokePublicConnect(cluster, name))) stillOpen.push(name)
  return stillOpen
}

type DatabaseNames = Pick<SquidDatabaseRow, 'database' | 'role' | 'readRole'>

async function databaseNames(app: App, squidId: number): Promise<DatabaseNames> {
  const name = `${await installationPrefix(app.db)}_${squidId}`
  return { database: name, role: name, readRole: `${name}_ro` }
}

/** Returns the connection of a role to a version's database. */
export function connectionOf(app: App, row: SquidDatabaseRow, user: string, password: string): SquidConnection {
  const clusterUrl = new URL(app.databaseHosts.get(row.server).cluster.url)
  const host = clusterUrl.hostname
  const port = Number(clusterUrl.port || 5432)
  const sslMode = clusterUrl.searchParams.get('sslmode')
  const needsTls = sslMode !== null && sslMode !== 'disable' && sslMode !== 'allow' && sslMode !== 'prefer'
  const query = needsTls ? `?sslmode=${sslMode}` : ''
  const url = `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${row.database}${query}`
  return { host: host.replace(/^\[|\]$/g, ''), port, database: row.database, user, password, url }
}

const databaseOf = (url: string) => decodeURIComponent(new URL(url).pathname.slice(1))
