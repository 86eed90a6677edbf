import { lockSpaces, openLocks } from '../db/leases.ts'
import { contract, createClient, type Client, type Contract } from '@shoal/contract'
import { createSimBuilder, createSimRuntime, type Builder, type Directory, type SimRuntime } from '@shoal/runtime'
import type { FastifyInstance } from 'fastify'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PgBoss } from 'pg-boss'
import { pino } from 'pino'
import { inject } from 'vitest'
import type { App, WorkerApp } from '../app.ts'
import { openArtifactStore } from '../artifacts/open-artifact-store.ts'
import { fakeClock } from '../clock.ts'
import { loadConfig } from '../config/config.ts'
import { createHttpApp } from '../http/app.ts'
import { startJobs, type Job } from '../jobs/jobs.ts'
import { createMailer, newestMails, newOutboxKey, openMail } from '../mail/index.ts'
import type { Mail } from '../mail/mailer.ts'
import { connect, type Database } from '../db/database.ts'
import { singleHost } from '../db/database-hosts.ts'
import { installationPrefix } from '../modules/databases/index.ts'
import { createSealer } from '../sealing/sealer.ts'
import { sendableJobs } from '../startup/sendable-jobs.ts'
import { createFactories, type Make, type TestUser } from './make.ts'
import { runJob } from './run-job.ts'
import { cloneDatabase } from './test-database.ts'

export type TestAppOptions = {
  /** Settings, as in the environment. SHOAL_DATA_DIR is always a new directory. */
  env?: Record<string, string>
  clock?: App['clock']
  /** Default: `createSimRuntime` and `createSimBuilder` of the runtime. */
  runtime?: SimRuntime
  /** Default: the directory of the runtime. */
  directory?: Directory
  builder?: Builder
  external?: App['external']
  /** Changes the URL of the database, for example to the URL of a proxy. */
  via?: (url: string) => string
  log?: App['log']
}

type InjectFetchOptions = {
  /** The remote address of the requests; loopback by default. */
  ip?: string
  userAgent?: string
}

export type TestApp = {
  app: WorkerApp
  /** A clock whose time changes only when `advance` is called. The app does not use it if the options contain another clock. */
  clock: ReturnType<typeof fakeClock>
  http: FastifyInstance
  /** Listens on a free loopback port and returns `http://127.0.0.1:<port>`, for streams and real clients. Idempotent. */
  listen: () => Promise<string>
  /** Returns a typed client with the session of a user, with a token, or without credentials. */
  as: (caller: Pick<TestUser, 'token'> | string | null, options?: InjectFetchOptions) => Client<Contract>
  make: Make
  /** Returns all emails, newest first. */
  mails: () => Promise<Mail[]>
  /**
   * Runs the queued jobs of these types that are due at the time of `clock`, and returns their number. A failed job stays active, as
   * if its worker had been killed. @throws the error of a failed job
   */
  runJobs: (jobs: Job<never>[]) => Promise<number>
  close: () => Promise<void>
}

/** Starts the whole server on a new database, without a port. Only the clock and the runtime are simulated. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const cleanup = new AsyncDisposableStack()
  try {
    return await openTestApp(options, cleanup)
  } catch (error) {
    await cleanup.disposeAsync()
    throw error
  }
}

/** Prints the reason when the database is unexpectedly unavailable in a test, since responses do not contain it. */
const logOfUnavailableDatabase = pino(
  { level: 'error' },
  { write: (line: string) => void (line.includes('DatabaseUnavailable') && process.stderr.write(line)) },
)

async function openTestApp(options: TestAppOptions, cleanup: AsyncDisposableStack): Promise<TestApp> {
  const dataDir = mkdtempSync(join(inject('testsDir'), 'app-'))
  cleanup.defer(() => rmSync(dataDir, { recursive: true, force: true }))
  const config = loadConfig({ ...options.env, SHOAL_DATA_DIR: dataDir, SHOAL_LOG_LEVEL: 'silent' })
  const clock = fakeClock()
  const log = options.log ?? (options.via ? pino({ level: 'silent' }) : logOfUnavailableDatabase)
  const database = await cloneDatabase(options.via)
  cleanup.defer(database.close)
  const logsDatabase = config.SHOAL_LOGS_DATABASE_URL ? connect(config.SHOAL_LOGS_DATABASE_URL, { max: 5 }) : database
  if (logsDatabase !== database) cleanup.defer(logsDatabase.close)
  const jobs = await startJobs(database, log, sendableJobs)
  cleanup.defer(jobs.close)
  if (!options.clock) await setJobClock(database, clock)
  const artifacts = await openArtifactStore(config, () => installationPrefix(database.db))
  cleanup.defer(() => artifacts.close())
  const uploadLocks = openLocks(database, lockSpaces.uploads)
  cleanup.defer(() => uploadLocks.close())
  const runtime = options.runtime ?? createSimRuntime()
  cleanup.defer(() => runtime.close('stop'))
  const appWithoutMailer = {
    config,
    clock: options.clock ?? clock,
    log,
    database,
    db: database.db,
    logsDatabase,
    databaseHosts: singleHost(database),
    jobs,
    sealer: createSealer({ dataDir }),
    artifacts,
    uploadLocks,
    outboxKey: newOutboxKey(config),
    directory: options.directory ?? runtime.directory,
    runtime,
    builder: options.builder ?? createSimBuilder(),
    ...(options.external ? { external: options.external } : {}),
  }
  const app: WorkerApp = { ...appWithoutMailer, mailer: createMailer(appWithoutMailer) }
  const http = await createHttpApp(app)
  cleanup.defer(() => http.close())
  let address: Promise<string> | undefined
  return {
    app,
    clock,
    http,
    listen: () => (address ??= http.listen({ port: 0, host: '127.0.0.1' })),
    as: (caller, fetchOptions) =>
      createClient(contract, {
        baseUrl: 'http://localhost/api',
        token: () => (typeof caller === 'string' || caller === null ? caller : caller.token),
        fetch: injectFetch(http, fetchOptions),
      }),
    make: createFactories(app),
    mails: async () => (await newestMails(app.db, 1000)).map((row) => openMail(app, row)),
    runJobs: async (jobTypes) => {
      if (!options.clock) await setJobClock(database, clock)
      return await runJobs(database.url, jobTypes)
    },
    close: () => cleanup.disposeAsync(),
  }
}

/** Returns a `fetch` that calls the server without a port. Supports text bodies; a streamed response resolves when the stream ends. */
function injectFetch(server: FastifyInstance, options: InjectFetchOptions = {}): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const response = await server.inject({
      method: (init.method ?? 'GET') as 'GET',
      url: `${url.pathname}${url.search}`,
      headers: {
        ...Object.fromEntries(new Headers(init.headers)),
        ...(options.userAgent === undefined ? {} : { 'user-agent': options.userAgent }),
      },
      ...(typeof init.body === 'string' ? { payload: init.body } : {}),
      ...(options.ip === undefined ? {} : { remoteAddress: options.ip }),
    })
    const headers = new Headers()
    for (const [name, value] of Object.entries(response.headers))
      for (const one of [value].flat()) if (one !== undefined) headers.append(name, String(one))
    const hasBody = response.statusCode !== 204 && response.statusCode !== 304
    return new Response(hasBody ? new Uint8Array(response.rawPayload) : null, { status: response.statusCode, headers })
  }
}

/** Sets the clock of pg-boss, so that the delays and the expiry of jobs depend on the clock of the test. */
async function setJobClock({ pool }: Database, clock: App['clock']): Promise<void> {
  const now = clock.now().toISOString()
  await pool.query(
    `create or replace function pgboss.job_now() returns timestamptz language sql stable as $$ select '${now}'::timestamptz $$`,
  )
}

async function runJobs(url: string, jobTypes: Job<never>[]): Promise<number> {
  const boss = new PgBoss({
    connectionString: url,
    schema: 'pgboss',
    max: 1,
    migrate: false,
    supervise: false,
    schedule: false,
    monitorIntervalSeconds: 1,
  })
  await boss.start()
  let completedJobs = 0
  try {
    for (const job of jobTypes) {
      if (!(await boss.getQueue(job.name))) continue
      await boss.supervise(job.name)
      for (let batch = await boss.fetch(job.name); batch.length > 0; batch = await boss.fetch(job.name)) {
        for (const item of batch) {
          await runJob(job, item.data as object, item.id)
          await boss.complete(job.name, item.id)
          completedJobs++
        }
      }
    }
  } finally {
    await boss.stop({ graceful: false })
  }
  return completedJobs
}
