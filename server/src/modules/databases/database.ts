import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { databaseSettings } from './database-config.ts'
import {
  clusterFacts,
  closeDatabase,
  dropDatabaseAndRoles,
  ensureOwnedDatabase,
  ensureRole,
  deleteSquidDatabase,
  installationPrefix,
  lastSquidId,
  namesWithPrefix,
  saveSquidDatabase,
  openDatabases,
  selectSquidDatabase,
  setRoleSettings,
  notedAmong,
  type SquidDatabaseRow,
} from './database-store.ts'
import { type Contexts, type Variables, type SquidPlan, billedProfile } from '../manifest/index.ts'
import { connectionLimit } from './resources.ts'

/** External connections if the manifest does not set a limit; the documentation recommends fewer than 10 (contract 6.3). */
const defaultExternalConnections = 10

type DesiredDatabase = {
  squidId: number
  plan: SquidPlan
  isPlayground: boolean
  /** Runs `work` in a transaction, in which the row is written; default: one of its own. */
  change?: <T>(work: (tx: Db) => Promise<T>) => Promise<T>
}

/**
 * Creates or updates the version's database and roles as its manifest requests. It is idempotent and may be interrupted at any point.
 * Returns warnings about settings of the manifest that cannot be applied.
 */
export async function syncDatabase(app: App, desired: DesiredDatabase): Promise<string[]> {
  const { squidId, plan, isPlayground, change = (work) => app.db.transaction(work) } = desired
  const { postgres } = plan
  if (!postgres) return []
  const cluster = app.squidsDatabase
  const names = await databaseNames(app, squidId)
  const facts = await clusterFacts(cluster)
  const { settings, warnings } = databaseSettings(postgres, facts)
  const maxExternalConnections = isPlayground ? 0 : (postgres.maxExternalConnections ?? defaultExternalConnections)
  const newRow = {
    squidId,
    ...names,
    sealedPassword: app.sealer.seal(newPassword(), passwordContext(squidId, 'owner')),
    sealedReadPassword: app.sealer.seal(newPassword(), passwordContext(squidId, 'reader')),
    version: facts.version,
    profile: billedProfile(postgres.profile, plan.isDedicated),
    maxExternalConnections,
    totalBytes: postgres.totalBytes,
  }
  const row = await change((tx) => saveSquidDatabase(tx, newRow))
  await ensureRole(cluster, {
    name: row.role,
    password: app.sealer.open(row.sealedPassword, passwordContext(squidId, 'owner')),
    canLogin: true,
    connectionLimit: connectionLimit(postgres.profile, plan.api?.replicas ?? 0, plan.processors.length),
  })
  await ensureRole(cluster, {
    name: row.readRole,
    password: app.sealer.open(row.sealedReadPassword, passwordContext(squidId, 'reader')),
    canLogin: maxExternalConnections > 0,
    connectionLimit: maxExternalConnections,
  })
  await ensureOwnedDatabase(cluster, row.database, row.role, row.readRole)
  const refused = await setRoleSettings(cluster, row.role, settings)
  return [...warnings, ...refused.map((key) => `${key} cannot be set in this installation's Postgres.`)]
}

/** Deletes its data; does nothing if there is none. Its passwords stay, for the database that `syncDatabase` creates next. */
export async function eraseDatabase(app: App, squidId: number): Promise<void> {
  const { database, role, readRole } = await databaseNames(app, squidId)
  await dropDatabaseAndRoles(app.squidsDatabase, database, [readRole, role])
}

/** Deletes the database and its row; does nothing if there is none. */
export async function dropDatabase(app: App, squidId: number): Promise<void> {
  await eraseDatabase(app, squidId)
  await deleteSquidDatabase(app.db, squidId)
}

export type SquidConnection = NonNullable<Contexts['addons']['postgres']>

/** The connection of the version's own programs; null without a database. */
export async function ownerConnection(app: App, squidId: number): Promise<SquidConnection | null> {
  const row = await selectSquidDatabase(app.db, squidId)
  return row && connectionOf(app, row, row.role, app.sealer.open(row.sealedPassword, passwordContext(squidId, 'owner')))
}

/** The read-only connection for users; null without a database, or if its manifest or plan allows none. */
export async function readerConnection(app: App, squidId: number): Promise<SquidConnection | null> {
  const row = await selectSquidDatabase(app.db, squidId)
  if (!row || row.maxExternalConnections === 0) return null
  const password = app.sealer.open(row.sealedReadPassword, passwordContext(squidId, 'reader'))
  return connectionOf(app, row, row.readRole, password)
}

/** `DB_*` and `DB_URL` (contract 4.2). */
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
 * Drops databases and roles of deleted versions. Those with an id above the highest one ever assigned are kept: Shoal's database was
 * restored from a backup, and they belong to versions created after that backup. Returns the ids of the versions.
 */
export async function collectDatabases(app: App): Promise<number[]> {
  const prefix = `${await installationPrefix(app.db)}_`
  const names = await namesWithPrefix(app.squidsDatabase, prefix)
  const ids = new Set(names.map((name) => Number(/^\d+/.exec(name.slice(prefix.length))?.[0] ?? Number.NaN)))
  const last = await lastSquidId(app.db)
  const candidates = [...ids].filter((id) => Number.isSafeInteger(id) && id <= last)
  if (candidates.length === 0) return []
  const known = await notedAmong(app.db, candidates)
  const orphans = candidates.filter((id) => !known.has(id))
  for (const id of orphans) await dropDatabase(app, id)
  return orphans
}

/**
 * Keeps the roles of versions out of all databases but their own. Returns the databases that stay open to every role, for a warning
 * to operators who share a Postgres with other programs.
 */
export async function closeOtherDatabases(app: App): Promise<string[]> {
  const ours = new Set(['postgres', 'template1', databaseOf(app.database.url), databaseOf(app.squidsDatabase.url)])
  const open = await openDatabases(app.squidsDatabase)
  const left: string[] = []
  for (const name of open) if (!ours.has(name) || !(await closeDatabase(app.squidsDatabase, name))) left.push(name)
  return left
}

type DatabaseNames = Pick<SquidDatabaseRow, 'database' | 'role' | 'readRole'>

async function databaseNames(app: App, squidId: number): Promise<DatabaseNames> {
  const name = `${await installationPrefix(app.db)}_${squidId}`
  return { database: name, role: name, readRole: `${name}_ro` }
}

function connectionOf(app: App, row: SquidDatabaseRow, user: string, password: string): SquidConnection {
  const from = new URL(app.squidsDatabase.url)
  const host = from.hostname
  const port = Number(from.port || 5432)
  const sslMode = from.searchParams.get('sslmode')
  const needsTls = sslMode !== null && sslMode !== 'disable' && sslMode !== 'allow' && sslMode !== 'prefer'
  const query = needsTls ? `?sslmode=${sslMode}` : ''
  const url = `postgres://${user}:${encodeURIComponent(password)}@${host}:${port}/${row.database}${query}`
  return { host: host.replace(/^\[|\]$/g, ''), port, database: row.database, user, password, url }
}

const databaseOf = (url: string) => decodeURIComponent(new URL(url).pathname.slice(1))
const newPassword = () => randomBytes(24).toString('base64url')
export const passwordContext = (squidId: number, whose: 'owner' | 'reader') => `squid ${squidId} database ${whose}`
