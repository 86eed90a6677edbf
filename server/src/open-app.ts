import {
  createSimBuilder,
  createSimDriver,
  openProcessRuntime,
  reachableDir,
  startEmbeddedPostgres,
} from '@shoal/runtime'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { App } from './app.ts'
import { systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { connect, ensureDatabase } from './db/database.ts'
import { migrate } from './db/migrate.ts'
import { startJobs } from './jobs/jobs.ts'
import { openKeyRing, placeOfKeys } from './key-ring.ts'
import { createLog } from './log.ts'
import { createMailer } from './mail/index.ts'
import { requireKeys } from './require-keys.ts'
import { createSealer } from './sealer.ts'

export type OpenApp = {
  app: App
  /** Ends everything, the squids too or not. */
  close: (squids: 'stop' | 'keep') => Promise<void>
  /** For a short command beside a server: leaves squids and a running server as they are. */
  closeConnections: () => Promise<void>
}

/**
 * Everything the roles need, ready: data directory, Postgres (embedded when no DATABASE_URL is set), schema, keys, runtime.
 * What had begun is ended again when the rest does not.
 * @throws MissingKeys when the database is sealed with keys that are not here
 */
export async function openApp(config: Config): Promise<OpenApp> {
  mkdirSync(config.dataDir, { recursive: true, mode: 0o755 })
  const stateDir = reachableDir(config.dataDir)
  const log = createLog(config)
  await using opened = new AsyncDisposableStack()
  const postgres = config.DATABASE_URL ? null : await startEmbeddedPostgres({ dir: join(stateDir, 'postgres') })
  if (postgres && !postgres.wasRunning) opened.defer(() => postgres.stop())
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
  await requireKeys(database, ring, placeOfKeys(config))
  const sealer = createSealer({ ring })
  const jobs = await startJobs(database, log)
  opened.defer(() => jobs.close())
  const { driver, builder } = await openRuntime(config, stateDir, log)
  const base = {
    config,
    clock: systemClock,
    log,
    database,
    db: database.db,
    squidsDatabase,
    jobs,
    sealer,
    driver,
    builder,
  }
  const app: App = { ...base, mailer: createMailer(base) }
  const disconnect = async () => {
    await jobs.close()
    if (squidsDatabase !== database) await squidsDatabase.close()
    await database.close()
  }
  const close = async (squids: 'stop' | 'keep') => {
    await driver.close(squids)
    await disconnect()
    // Squids that go on need their database.
    if (postgres && squids === 'stop') await postgres.stop()
  }
  const closeConnections = async () => {
    await disconnect()
    if (postgres && !postgres.wasRunning && !isServerRunning(config)) await postgres.stop()
  }
  // From here on the caller ends it.
  opened.move()
  return { app, close, closeConnections }
}

async function openRuntime(config: Config, stateDir: string, log: Logger): Promise<Pick<App, 'driver' | 'builder'>> {
  if (config.SHOAL_RUNTIME === 'sim') return { driver: createSimDriver({ serve: true }), builder: createSimBuilder() }
  return openProcessRuntime({
    stateDir,
    buildsAtOnce: config.SHOAL_BUILDS_AT_ONCE,
    maxCacheBytes: config.SHOAL_BUILD_CACHE_MB * 1_000_000,
    env: config.environment,
    log: (message) => log.info(message),
  })
}

const pidFile = (config: Config) => join(config.dataDir, 'server.pid')

/** Notes which process serves this data directory; answers how to take the note back. */
export function noteServer(config: Config): () => void {
  writeFileSync(pidFile(config), String(process.pid))
  return () => rmSync(pidFile(config), { force: true })
}

/** Of this data directory. */
export function isServerRunning(config: Config): boolean {
  try {
    return process.kill(Number(readFileSync(pidFile(config), 'utf8')), 0)
  } catch {
    return false
  }
}
