import {
  describeStopped,
  markSeparate,
  needsSplit,
  PostgresStartError,
  splitCluster,
  startEmbeddedPostgres,
  tenantLimits,
  watchEmbeddedPostgres,
  shareCpuAmongDatabases,
  watchMemory,
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  type PostgresWatchOptions,
} from '@shoal/runtime'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { mainServer, type SquidServer } from '../config/database-settings.ts'
import { ensureDatabase, ensureStatementStatistics, isSamePostgres } from '../db/database.ts'
import { InstallationInUse, lockInstallation, type InstallationLock } from '../installation/installation-lock.ts'
import type { ServerProcess } from './open-app.ts'
import { hasOtherClients, readClusterContents } from './split-store.ts'

/** The embedded Postgres clusters of an installation: directories below the state directory. */
export const clusterNames = { controlPlane: 'postgres', squids: 'postgres-squids' } as const

/** Enough for an installation with several processes, each of which opens up to 30 connections. */
const controlPlaneConnections = 200
/** Connections that are reserved for Shoal, so that squids cannot use all. */
const reservedConnections = 20

/** Each cluster may be on a disk that is mounted at its directory. */
const pathsOf = (stateDir: string, name: string) => ({
  dir: join(stateDir, name),
  createdFile: join(stateDir, `${name}.created`),
})

/** Returns the options of the embedded clusters. Squids have their own cluster unless a setting names another Postgres. */
export function embeddedClusters(
  config: Config,
  stateDir: string,
): { controlPlane: EmbeddedPostgresOptions | null; squids: EmbeddedPostgresOptions | null } {
  if (config.DATABASE_URL !== undefined) return { controlPlane: null, squids: null }
  const needsSquidsCluster = config.squidServers.length === 0
  const megabytes = config.SHOAL_SQUIDS_POSTGRES_MEMORY_MB
  return {
    controlPlane: {
      ...pathsOf(stateDir, clusterNames.controlPlane),
      settings: {
        max_connections: String(controlPlaneConnections),
        // Operators see the recorded statements. Utility statements are not recorded, because some set passwords.
        shared_preload_libraries: 'pg_stat_statements',
        'pg_stat_statements.track_utility': 'off',
      },
    },
    squids: needsSquidsCluster
      ? {
          ...pathsOf(stateDir, clusterNames.squids),
          settings: {
            max_connections: String(config.SHOAL_POSTGRES_CONNECTIONS),
            superuser_reserved_connections: String(reservedConnections),
          },
          limits: tenantLimits(megabytes === undefined ? undefined : megabytes * 2 ** 20),
          isForTenants: true,
        }
      : null,
  }
}

export type OpenPostgres = {
  /** The URL of the control plane's database. */
  url: string
  /** The Postgres servers of squids; null if squids use the Postgres of the control plane. */
  squidServers: SquidServer[] | null
  /** Stops or keeps the embedded clusters; see `OpenApp.close`. */
  close: (mode: 'stop' | 'keep' | 'as-found') => Promise<void>
}

/**
 * Starts or adopts the embedded clusters, and restarts them if they crash while a server runs. If the cluster of squids does not start,
 * the server tries to start it again until it succeeds. Moves the databases of squids to their own cluster if an earlier version of Shoal
 * created them in the cluster of the control plane.
 * @throws InstallationInUse if the earlier version is still running; PostgresStartError if the Postgres of the control plane does not start
 */
export async function openPostgres(
  config: Config,
  stateDir: string,
  log: Logger,
  server?: ServerProcess,
): Promise<OpenPostgres> {
  const { controlPlane, squids } = embeddedClusters(config, stateDir)
  const externalServers = config.squidServers.length > 0 ? config.squidServers : null
  if (!controlPlane) {
    const url = config.DATABASE_URL ?? ''
    if (
      server &&
      config.SHOAL_ROLES.includes('worker') &&
      (externalServers ?? [{ url }]).some((server) => isSamePostgres(url, server.url))
    )
      log.warn(
        'Squids use the Postgres of the control plane (DATABASE_URL): a squid can use up its connections, memory, CPU time and disk, and so stop this server. Give squids their own Postgres with SHOAL_SQUIDS_DATABASE_URL.',
      )
    return { url, squidServers: externalServers, close: () => Promise.resolve() }
  }
  if (squids) await splitIfNeeded(config, controlPlane, squids, log)
  const started: EmbeddedPostgres[] = []
  const watches: (() => Promise<void>)[] = []
  const close: OpenPostgres['close'] = async (mode) => {
    await Promise.all(watches.map((stop) => stop()))
    const stopped = started.filter(({ wasRunning }) => mode === 'stop' || (mode === 'as-found' && !wasRunning))
    const stop = async () => void (await Promise.all(stopped.map((postgres) => postgres.stop())))
    if (stopped.length > 0) await stopIfUnused(config, { stop }, server?.installation)
  }
  const start = async (options: EmbeddedPostgresOptions, onCrashLoop: ((error: Error) => void) | null) => {
    const { postgres, notStarted } = await startOrDescribe(options)
    started.push(postgres)
    if (!server) {
      if (notStarted) log.warn(notStarted.reason)
      return postgres
    }
    const { dir, limits } = options
    watches.push(watchEmbeddedPostgres({ ...options, log: (message) => log.error(message), onCrashLoop, notStarted }))
    if (limits) {
      const warn = (message: string) => log.warn(message)
      watches.push(watchMemory({ dir, limits, log: warn }), shareCpuAmongDatabases({ dir, log: warn }))
    }
    return postgres
  }
  const outcomes = await Promise.allSettled([
    start(controlPlane, server?.onFailure ?? null),
    // Failures of this cluster must not stop the control plane, not even at its start, since squids may cause them.
    squids ? start(squids, null) : null,
  ])
  try {
    const [controlPlanePostgres, squidsPostgres] = outcomes.map((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    })
    if (!controlPlanePostgres) throw new Error('The Postgres of the control plane did not start.')
    await ensureDatabase(controlPlanePostgres.url('postgres'), 'shoal')
    await ensureStatementStatistics(controlPlanePostgres.url('shoal'))
    return {
      url: controlPlanePostgres.url('shoal'),
      squidServers: squidsPostgres
        ? [{ name: mainServer, url: squidsPostgres.url('postgres'), weight: 1, maxDatabases: null }]
        : externalServers,
      close,
    }
  } catch (error) {
    await close('as-found')
    throw error
  }
}

async function splitIfNeeded(
  config: Config,
  controlPlane: EmbeddedPostgresOptions,
  squids: EmbeddedPostgresOptions,
  log: Logger,
): Promise<void> {
  const paths = { from: controlPlane.dir, to: squids.dir }
  markSeparate(controlPlane.dir)
  // A cluster that was created earlier is on a disk that is not mounted.
  if (!needsSplit(paths) || (squids.createdFile !== undefined && existsSync(squids.createdFile))) return
  await splitCluster({
    ...paths,
    log: (message) => log.info(message),
    plan: async ({ url }) => {
      if (await hasOtherClients(url('postgres')))
        throw new InstallationInUse(
          `The databases of squids must be moved to their own Postgres, but other programs use the Postgres in ${paths.from}, for example a server of an earlier version of Shoal. Stop all processes of ${config.dataDir} first.`,
        )
      return await readClusterContents(url)
    },
  })
}

/** Starts a cluster. If the cluster of squids fails to start, returns the address at which `watchEmbeddedPostgres` will start it later. */
async function startOrDescribe(
  options: EmbeddedPostgresOptions,
): Promise<{ postgres: EmbeddedPostgres; notStarted?: NonNullable<PostgresWatchOptions['notStarted']> }> {
  try {
    return { postgres: await startEmbeddedPostgres(options) }
  } catch (error) {
    if (!options.isForTenants || !(error instanceof PostgresStartError)) throw error
    const { postgres, address } = await describeStopped(options)
    return { postgres, notStarted: { reason: error.message, address } }
  }
}

/** Stops Postgres unless another process uses the installation. `installation`: the lock that this process holds, if any. */
export async function stopIfUnused(
  config: Config,
  postgres: { stop: () => Promise<void> },
  installation?: InstallationLock,
): Promise<void> {
  const lock = installation ?? (await lockInstallation(config, { exclusive: true, roles: [] }).catch(() => null))
  if (!lock) return
  try {
    if (await lock.tryExclusive()) await postgres.stop()
  } finally {
    if (lock !== installation) lock.release()
  }
}
