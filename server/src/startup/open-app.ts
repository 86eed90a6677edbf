import {
  createProcessDirectory,
  createSimBuilder,
  createSimRuntime,
  openProcessRuntime,
  startEmbeddedPostgres,
  traversableDir,
  watchEmbeddedPostgres,
  type Directory,
} from '@shoal/runtime'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { App, WorkerApp } from '../app.ts'
import { systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { connect, ensureDatabase } from '../db/database.ts'
import { migrate } from '../db/migrate.ts'
import { lockInstallation, type InstallationLock } from '../installation/installation-lock.ts'
import { startJobs } from '../jobs/jobs.ts'
import { noVitals } from '../health/vitals.ts'
import { sendableJobs } from './sendable-jobs.ts'
import { openKeyRing, keysLocation } from '../sealing/key-ring.ts'
import { createLog } from './log.ts'
import { createMailer } from '../mail/index.ts'
import { requireKeys } from '../sealing/require-keys.ts'
import { createSealer } from '../sealing/sealer.ts'

export type OpenApp = {
  app: App
  /** Opens the runtime and builder on this host. To be called once, by the active worker. */
  openWorker: () => Promise<WorkerApp>
  /**
   * Closes all connections. The embedded Postgres is stopped (unless another process of the installation uses it) or kept;
   * `as-found`, for short-lived commands, stops it only if this process started it. Containers are left to the worker.
   */
  close: (postgres: 'stop' | 'keep' | 'as-found') => Promise<void>
}

/** The context of a server process; commands have none. */
export type ServerProcess = {
  installation: InstallationLock
  draining: AbortSignal
  /** Called if the process cannot continue and has to exit. */
  onFailure: (error: unknown) => void
}

/**
 * Opens everything that all roles need: data directory, Postgres (embedded if DATABASE_URL is not set), schema, keys, directory of
 * squids. If a part fails to start, the parts started before are stopped. A command, which may run beside a server, omits `server`.
 * @throws MissingKeys if the database is sealed with keys that this installation does not have
 */
export async function openApp(config: Config, server?: ServerProcess): Promise<OpenApp> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o755 })
  const stateDir = traversableDir(config.dataDir)
  const log = createLog(config)
  await using opened = new AsyncDisposableStack()
  const embedded = postgresOptions(config, stateDir)
  const postgres = config.DATABASE_URL ? null : await startEmbeddedPostgres(embedded)
  if (postgres && !postgres.wasRunning) opened.defer(() => stopIfUnused(config, postgres, server?.installation))
  const stopWatching =
    postgres && server
      ? watchEmbeddedPostgres({ ...embedded, log: (message) => log.error(message), gaveUp: server.onFailure })
      : () => Promise.resolve()
  opened.defer(stopWatching)
  const url = config.DATABASE_URL ?? postgres?.url('shoal') ?? ''
  if (postgres) await ensureDatabase(postgres.url('postgres'), 'shoal')
  const database = connect(url)
  opened.defer(() => database.close())
  const applied = await migrate(database.pool)
  if (applied.length > 0) log.info({ applied }, 'database migrated')
  const squidsDatabase = config.SHOAL_SQUIDS_DATABASE_URL
    ? connect(config.SHOAL_SQUIDS_DATABASE_URL, { max: 5 })
    : database
  if (squidsDatabase !== database) opened.defer(() => squidsDatabase.close())
  const ring = openKeyRing({ keys: config.SHOAL_SECRETS_KEY, dataDir: config.dataDir })
  await requireKeys(database, ring, keysLocation(config))
  const sealer = createSealer({ ring })
  const jobs = await startJobs(database, log, sendableJobs)
  opened.defer(() => jobs.close())
  const squids = squidBackendOf(config, stateDir, log)
  await squids.directory.start()
  opened.defer(() => squids.directory.close())
  const base = {
    config,
    clock: systemClock,
    log,
    database,
    db: database.db,
    squidsDatabase,
    jobs,
    sealer,
    directory: squids.directory,
    vitals: noVitals(),
    ...(server ? { draining: server.draining } : {}),
  }
  const app: App = { ...base, mailer: createMailer(base) }
  const disconnect = async () => {
    await squids.directory.close()
    await jobs.close()
    if (squidsDatabase !== database) await squidsDatabase.close()
    await database.close()
  }
  const close: OpenApp['close'] = async (mode) => {
    await disconnect()
    await stopWatching()
    const isStopped = mode === 'stop' || (mode === 'as-found' && !postgres?.wasRunning)
    if (postgres && isStopped) await stopIfUnused(config, postgres, server?.installation)
  }
  // From here on the caller is responsible for closing.
  opened.move()
  return { app, openWorker: async () => ({ ...app, ...(await squids.open()) }), close }
}

/** Stops Postgres unless another process uses the installation. `installation` is the lock that this process holds, if any. */
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

const postgresOptions = (config: Config, stateDir: string) => ({
  dir: join(stateDir, 'postgres'),
  settings: { max_connections: String(config.SHOAL_POSTGRES_CONNECTIONS) },
})

type SquidBackend = {
  /** For every role. */
  directory: Directory
  /** For the active worker: installs what squids need and prepares this host. Adopts no containers before `Runtime.start`. */
  open: () => Promise<Pick<WorkerApp, 'runtime' | 'builder'>>
}

/** The backend that SHOAL_RUNTIME names. Does nothing on the host before `open` and `Directory.start`. */
function squidBackendOf(config: Config, stateDir: string, log: Logger): SquidBackend {
  if (config.SHOAL_RUNTIME === 'sim') {
    const runtime = createSimRuntime({ serve: true })
    return { directory: runtime.directory, open: async () => ({ runtime, builder: createSimBuilder() }) }
  }
  return {
    directory: createProcessDirectory({ stateDir }),
    open: () =>
      openProcessRuntime({
        stateDir,
        sandbox: config.SHOAL_SANDBOX,
        maxConcurrentBuilds: config.SHOAL_BUILDS_AT_ONCE,
        maxCacheBytes: config.SHOAL_BUILD_CACHE_MB * 1_000_000,
        env: config.environment,
        log: (message) => log.info(message),
      }),
  }
}
