import { lockSpaces, openLocks } from '../db/leases.ts'
import { traversableDir } from '@shoal/runtime'
import { mkdirSync } from 'node:fs'
import type { Logger } from 'pino'
import type { App, WorkerApp } from '../app.ts'
import { ArtifactsUnavailable, type ArtifactStore } from '../artifacts/artifact-store.ts'
import { openArtifactStore } from '../artifacts/open-artifact-store.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { connect } from '../db/database.ts'
import { createDatabaseHosts, singleHost } from '../db/database-hosts.ts'
import { migrate } from '../db/migrate.ts'
import type { InstallationLock } from '../installation/installation-lock.ts'
import { requireNotMoved } from '../installation/move-mark.ts'
import { startJobs } from '../jobs/jobs.ts'
import { noComponentStates } from '../health/component-states.ts'
import { sendableJobs } from './sendable-jobs.ts'
import { openLogsDatabase, requireLogsDatabase } from '../modules/logs/index.ts'
import { installationPrefix, servers } from '../modules/databases/index.ts'
import { openKeyRing, keysLocation } from '../sealing/key-ring.ts'
import { createLog } from './log.ts'
import { networkTargets } from './network-targets.ts'
import { createMailer, newOutboxKey } from '../mail/index.ts'
import { openPostgres } from './open-postgres.ts'
import { requireKeys } from '../sealing/require-keys.ts'
import { createSealer } from '../sealing/sealer.ts'
import { createSquidBackend } from './squid-backend.ts'

export type OpenApp = {
  app: App
  /** Opens the runtime and builder on this host. Must be called only once, by the active worker. */
  openWorker: () => Promise<WorkerApp>
  /**
   * Closes all connections. The embedded Postgres is stopped (unless another process of the installation uses it) or kept running;
   * `as-found`, for short-lived commands, stops it only if this process started it. Containers are stopped only by the worker.
   */
  close: (postgres: 'stop' | 'keep' | 'as-found') => Promise<void>
}

/** The context of a server process; commands have none. */
export type ServerProcess = {
  installation: InstallationLock
  draining: AbortSignal
  /** Called if the process cannot continue and must exit. */
  onFailure: (error: unknown) => void
}

/**
 * Opens the parts that all roles need: data directory, Postgres (embedded if DATABASE_URL is not set), schema, keys, directory of
 * squids. If a part fails to start, stops the parts that were already started. Commands, which may run while a server runs, omit
 * `server`.
 * @throws MissingKeys if the database is sealed with keys that this installation does not have; InvalidSettingError if databases of squids
 * are on a server that SHOAL_SQUIDS_DATABASE_URL does not list; InstallationMoved if the installation is in another database
 */
export async function openApp(config: Config, server?: ServerProcess): Promise<OpenApp> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o755 })
  const stateDir = traversableDir(config.dataDir)
  const log = createLog(config)
  await using cleanup = new AsyncDisposableStack()
  const postgres = await openPostgres(config, stateDir, log, server)
  cleanup.defer(() => postgres.close('as-found'))
  const database = connect(postgres.url)
  cleanup.defer(() => database.close())
  const applied = await migrate(database.pool)
  if (applied.length > 0) log.info({ applied }, 'database migrated')
  await requireNotMoved(database.db)
  const squidServers = (postgres.squidServers ?? []).map(({ url, ...server }) => ({
    ...server,
    cluster: connect(url, { max: 5 }),
  }))
  const closeSquidServers = async () => void (await Promise.all(squidServers.map(({ cluster }) => cluster.close())))
  cleanup.defer(closeSquidServers)
  const logsDatabase = openLogsDatabase(config, database)
  if (logsDatabase !== database) cleanup.defer(() => logsDatabase.close())
  if (server) await requireLogsDatabase({ config, log, database, db: database.db, logsDatabase })
  const databaseHosts = squidServers.length > 0 ? createDatabaseHosts(squidServers) : singleHost(database)
  if (server) await servers.requireListed(database.db, databaseHosts)
  const ring = openKeyRing({ keys: config.SHOAL_SECRETS_KEY, dataDir: config.dataDir })
  await requireKeys(database, ring, keysLocation(config))
  const sealer = createSealer({ ring })
  const artifacts = await openArtifactStore(config, () => installationPrefix(database.db))
  cleanup.defer(() => artifacts.close())
  const uploadLocks = openLocks(database, lockSpaces.uploads)
  cleanup.defer(() => uploadLocks.close())
  const hasRole = (...roles: Config['SHOAL_ROLES']) =>
    server !== undefined && config.SHOAL_ROLES.some((role) => roles.includes(role))
  if (hasRole('api', 'worker')) await checkArtifacts(artifacts, log)
  const jobs = await startJobs(database, log, sendableJobs)
  cleanup.defer(() => jobs.close())
  const targets = networkTargets(
    config,
    databaseHosts.all.map(({ cluster }) => cluster.url),
  )
  const installation = await installationPrefix(database.db)
  const squids = createSquidBackend(config, { stateDir, targets, sealer, log, installation })
  // Commands and processes with only the api role do not connect to squids, so in a cluster they need no rights.
  if (hasRole('worker', 'gateway')) await squids.directory.start()
  cleanup.defer(() => squids.directory.close())
  const appWithoutMailer = {
    config,
    clock: systemClock,
    log,
    database,
    db: database.db,
    logsDatabase,
    databaseHosts,
    jobs,
    sealer,
    artifacts,
    uploadLocks,
    outboxKey: newOutboxKey(config),
    directory: squids.directory,
    componentStates: { ...noComponentStates(), directory: () => squids.directory.problem?.() ?? null },
    ...(server ? { draining: server.draining } : {}),
  }
  const app: App = { ...appWithoutMailer, mailer: createMailer(appWithoutMailer) }
  const disconnect = async () => {
    await squids.directory.close()
    await jobs.close()
    artifacts.close()
    await uploadLocks.close()
    await closeSquidServers()
    if (logsDatabase !== database) await logsDatabase.close()
    await database.close()
  }
  const close: OpenApp['close'] = async (mode) => {
    await disconnect()
    await postgres.close(mode)
  }
  // From here on, the caller is responsible for closing.
  cleanup.move()
  return { app, openWorker: async () => ({ ...app, ...(await squids.open()) }), close }
}

/**
 * Verifies that the archive store works. A server starts without it if the store may recover.
 * @throws ArtifactsUnavailable if the settings have to be corrected
 */
async function checkArtifacts(artifacts: ArtifactStore, log: Logger): Promise<void> {
  try {
    await artifacts.check()
  } catch (error) {
    if (!(error instanceof ArtifactsUnavailable) || error.isMisconfigured) throw error
    log.warn(`${error.message} Until it recovers, users cannot deploy.`)
  }
}
