import { traversableDir, startEmbeddedPostgres, watchEmbeddedPostgres } from '@shoal/runtime'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
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
import { squidBackendOf } from './open-runtime.ts'
import { requireKeys } from '../sealing/require-keys.ts'
import { createSealer } from '../sealing/sealer.ts'

export type OpenApp = {
  app: App
  /** Adds what a worker needs on this host: for the worker whose turn it is, once. */
  openWorker: () => Promise<WorkerApp>
  /**
   * Closes all connections. The embedded Postgres is stopped when no other process of the installation lives, or kept; `as-found`, for a
   * short command, stops it only when it did not run before. Containers are the worker's to stop or keep.
   */
  close: (postgres: 'stop' | 'keep' | 'as-found') => Promise<void>
}

/** What a process that serves has before all else. */
export type ServerProcess = {
  installation: InstallationLock
  draining: AbortSignal
  /** The process cannot go on and has to end. */
  onFailure: (error: unknown) => void
}

/**
 * Everything the roles need, ready: data directory, Postgres (embedded when no DATABASE_URL is set), schema, keys, directory.
 * What had begun is ended again when the rest does not. A command beside a server passes none.
 * @throws MissingKeys when the database is sealed with keys that are not here
 */
export async function openApp(config: Config, server?: ServerProcess): Promise<OpenApp> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o755 })
  const stateDir = traversableDir(config.dataDir)
  const log = createLog(config)
  await using opened = new AsyncDisposableStack()
  const embedded = postgresOptions(config, stateDir)
  const postgres = config.DATABASE_URL ? null : await startEmbeddedPostgres(embedded)
  if (postgres && !postgres.wasRunning) opened.defer(() => stopUnused(config, postgres, server?.installation))
  const unwatch =
    postgres && server
      ? watchEmbeddedPostgres({ ...embedded, log: (message) => log.error(message), gaveUp: server.onFailure })
      : () => Promise.resolve()
  opened.defer(unwatch)
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
  const close: OpenApp['close'] = async (wish) => {
    await disconnect()
    await unwatch()
    const isStopped = wish === 'stop' || (wish === 'as-found' && !postgres?.wasRunning)
    if (postgres && isStopped) await stopUnused(config, postgres, server?.installation)
  }
  // From here on the caller ends it.
  opened.move()
  return { app, openWorker: async () => ({ ...app, ...(await squids.open()) }), close }
}

/** Stops Postgres when no other process of the installation lives. `installation`: what this process holds of it. */
export async function stopUnused(
  config: Config,
  postgres: { stop: () => Promise<void> },
  installation?: InstallationLock,
): Promise<void> {
  const held = installation ?? (await lockInstallation(config, { alone: true, roles: [] }).catch(() => null))
  if (!held) return
  try {
    if (await held.tryExclusive()) await postgres.stop()
  } finally {
    if (held !== installation) held.release()
  }
}

const postgresOptions = (config: Config, stateDir: string) => ({
  dir: join(stateDir, 'postgres'),
  settings: { max_connections: String(config.SHOAL_POSTGRES_CONNECTIONS) },
})
