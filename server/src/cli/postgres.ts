import { openClusterPostgres } from '@shoal/runtime'
import type { App } from '../app.ts'
import { gibibytes } from '../bytes.ts'
import type { CliOptions } from './commands.ts'
import { servers } from '../modules/databases/index.ts'

type Result = Promise<Record<string, unknown>>

const sizeProfiles = ['small', 'medium', 'large', 'xlarge', '2xlarge'] as const
const maxGibibytes = 65_536
const maxInstances = 9
const maxDatabasesOfCluster = 100

/**
 * Creates a Postgres server of SHOAL_SQUIDS_DATABASE_URL with CloudNativePG, or changes its size to that of the profile, multiplied by
 * `shoal_max_databases`. Returns `{server, cluster, maxConnections}`.
 */
async function applyPostgres(app: App, options: CliOptions): Result {
  const { server, location, password } = serverNamed(app, options.name)
  const profile = sizeProfiles.find((known) => known === options.profile)
  if (!profile) throw new Error(`--profile must be one of ${sizeProfiles.join(', ')}`)
  const databases = server.maxDatabases ?? 1
  if (databases < 1 || databases > maxDatabasesOfCluster)
    throw new Error(
      `shoal_max_databases of the server "${server.name}" must be a whole number from 1 to ${maxDatabasesOfCluster}`,
    )
  const size = servers.sizeOf(profile, databases)
  const requested = {
    ...location,
    ...size,
    password,
    storageBytes: gibibytes(wholeNumber('storage', options.storage, maxGibibytes)),
    storageClass: options['storage-class'] ?? null,
    instances: wholeNumber('instances', options.instances ?? '1', maxInstances),
    objectStore: options['object-store'] ?? null,
  }
  await using cluster = await open(app)
  await cluster.servers.apply(requested)
  return { server: server.name, cluster: `${location.namespace}/${location.name}`, maxConnections: size.maxConnections }
}

/** Returns `{server, cluster, state, sentence, backupProblem}` of a Postgres server that CloudNativePG runs. */
async function postgresStatus(app: App, { name }: CliOptions): Result {
  const { server, location } = serverNamed(app, name)
  await using cluster = await open(app)
  const state = await cluster.servers.read(location)
  return { server: server.name, cluster: `${location.namespace}/${location.name}`, ...state }
}

/**
 * Deletes a Postgres server that CloudNativePG runs, with its data, unless it has, or may get, databases of squids. Requires `force`.
 * Returns `{server, deleted}`.
 */
async function deletePostgres(app: App, { name, force }: CliOptions): Result {
  const { server, location } = serverNamed(app, name)
  // A renamed server would seem to have no databases.
  await servers.requireListed(app.db, app.databaseHosts)
  const count = await servers.databasesOn(app.db, server.name)
  if (count > 0)
    throw new Error(
      `The server "${server.name}" has ${count} ${count === 1 ? 'database' : 'databases'} of squids. Set shoal_max_databases=0 for it, and delete those versions first.`,
    )
  if (server.maxDatabases !== 0)
    throw new Error(
      `New versions may still get databases on the server "${server.name}": set shoal_max_databases=0 for it, and restart Shoal first.`,
    )
  if (!force)
    throw new Error(
      `This deletes all data of the server "${server.name}" (${location.namespace}/${location.name}): add --force to confirm`,
    )
  await using cluster = await open(app)
  await cluster.servers.remove(location)
  return { server: server.name, deleted: true }
}

async function open(app: App) {
  const cluster = await openClusterPostgres(app.config.SHOAL_KUBECONFIG ?? null)
  return { servers: cluster, [Symbol.asyncDispose]: async () => cluster.close() }
}

/** Returns a server of the setting, and the names of its objects and its password from the URL. */
function serverNamed(app: App, name: string) {
  const server = app.config.squidServers.find((candidate) => candidate.name === name)
  if (!server) throw new Error(`SHOAL_SQUIDS_DATABASE_URL has no server "${name}"`)
  const url = new URL(server.url)
  const [, cluster, namespace] = /^([a-z0-9-]+)-rw\.([a-z0-9-]+)\.svc(\.|$)/.exec(url.hostname) ?? []
  if (cluster === undefined || namespace === undefined)
    throw new Error(
      `The host of the server "${name}" in SHOAL_SQUIDS_DATABASE_URL is ${url.hostname}, but CloudNativePG makes servers with the host NAME-rw.NAMESPACE.svc`,
    )
  if (url.username !== 'postgres' || url.password === '')
    throw new Error(
      `The URL of the server "${name}" in SHOAL_SQUIDS_DATABASE_URL needs the user postgres and a password`,
    )
  if (url.port !== '' && url.port !== '5432')
    throw new Error(
      `The port of the server "${name}" in SHOAL_SQUIDS_DATABASE_URL is ${url.port}, but servers of CloudNativePG have port 5432`,
    )
  return { server, location: { name: cluster, namespace }, password: decodeURIComponent(url.password) }
}

function wholeNumber(option: string, text: string | undefined, max: number): number {
  const value = Number(text)
  if (!/^\d+$/.test(text ?? '') || value < 1 || value > max)
    throw new Error(`--${option} must be a whole number from 1 to ${max}`)
  return value
}

/** The commands for Postgres servers of squids that CloudNativePG runs. They use the operator's own rights in the cluster. */
export const postgresCommands = {
  'postgres apply': {
    run: applyPostgres,
    options: ['name', 'profile', 'storage'],
    optional: ['storage-class', 'instances', 'object-store'],
    summary:
      'create a server of SHOAL_SQUIDS_DATABASE_URL with CloudNativePG, or change its size; --storage: GiB; --object-store: the object store of its backups',
  },
  'postgres status': {
    run: postgresStatus,
    options: ['name'],
    summary: 'show whether a server that CloudNativePG runs is ready, and whether its backups work',
  },
  'postgres delete': {
    run: deletePostgres,
    options: ['name'],
    flags: ['force'],
    summary:
      'delete a server that CloudNativePG runs, with its data; refused while it has databases of squids, and without --force',
  },
}

/** The options of these commands, for `parseArgs`. */
export const postgresOptions = {
  profile: { type: 'string' },
  storage: { type: 'string' },
  'storage-class': { type: 'string' },
  instances: { type: 'string' },
  'object-store': { type: 'string' },
} as const
