import { contract, createClient, type Client, type Contract } from '@shoal/contract'
import { createSimBuilder, createSimRuntime, type Builder, type Directory, type SimRuntime } from '@shoal/runtime'
import type { FastifyInstance } from 'fastify'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { PgBoss } from 'pg-boss'
import { pino } from 'pino'
import { inject } from 'vitest'
import type { App, WorkerApp } from '../app.ts'
import { fakeClock } from '../clock.ts'
import { loadConfig } from '../config/config.ts'
import { createHttpApp } from '../http/app.ts'
import { startJobs, type Job } from '../jobs/jobs.ts'
import { createMailer, newestMails, openMail } from '../mail/index.ts'
import type { Mail } from '../mail/mailer.ts'
import { createSealer } from '../sealing/sealer.ts'
import { sendableJobs } from '../startup/sendable-jobs.ts'
import { injectFetch, type InjectFetchOptions } from './inject-fetch.ts'
import { maker, type Make, type TestUser } from './make.ts'
import { cloneDatabase } from './test-database.ts'

export type TestAppOptions = {
  /** Settings as in the environment; SHOAL_DATA_DIR is a folder of the test's own. */
  env?: Record<string, string>
  clock?: App['clock']
  /** Default: `createSimRuntime` and `createSimBuilder` of the runtime. */
  runtime?: SimRuntime
  /** Default: the runtime's. */
  directory?: Directory
  builder?: Builder
  external?: App['external']
  /** Changes the address at which the database is reached. */
  via?: (url: string) => string
  log?: App['log']
}

export type TestApp = {
  app: WorkerApp
  /** Stands still until it is moved, unless the options gave another one. */
  clock: ReturnType<typeof fakeClock>
  http: FastifyInstance
  /** Starts to listen on a free port of loopback, once; answers `http://127.0.0.1:<port>`. For streams and real clients. */
  listen: () => Promise<string>
  /** A typed client: as a person, with a token, or as a stranger. */
  as: (who: Pick<TestUser, 'token'> | string | null, options?: InjectFetchOptions) => Client<Contract>
  make: Make
  /** All mails, newest first. */
  mails: () => Promise<Mail[]>
  /** Works off what waits in the queues of these jobs; answers how many ran. Throws what a job throws. */
  runJobs: (jobs: Job<never>[]) => Promise<number>
  close: () => Promise<void>
}

/** The whole server on a database of its own, without a port: everything in it is real but the clock and the runtime. */
export async function startTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const opened = new AsyncDisposableStack()
  try {
    return await open(options, opened)
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

async function open(options: TestAppOptions, opened: AsyncDisposableStack): Promise<TestApp> {
  const dataDir = mkdtempSync(join(inject('testsDir'), 'app-'))
  opened.defer(() => rmSync(dataDir, { recursive: true, force: true }))
  const config = loadConfig({ ...options.env, SHOAL_DATA_DIR: dataDir, SHOAL_LOG_LEVEL: 'silent' })
  const clock = fakeClock()
  const log = options.log ?? pino({ level: 'silent' })
  const database = await cloneDatabase(options.via)
  opened.defer(database.close)
  const jobs = await startJobs(database, log, sendableJobs)
  opened.defer(jobs.close)
  const runtime = options.runtime ?? createSimRuntime()
  opened.defer(() => runtime.close('stop'))
  const base = {
    config,
    clock: options.clock ?? clock,
    log,
    database,
    db: database.db,
    squidsDatabase: database,
    jobs,
    sealer: createSealer({ dataDir }),
    directory: options.directory ?? runtime.directory,
    runtime,
    builder: options.builder ?? createSimBuilder(),
    ...(options.external ? { external: options.external } : {}),
  }
  const app: WorkerApp = { ...base, mailer: createMailer(base) }
  const http = await createHttpApp(app)
  opened.defer(() => http.close())
  let address: Promise<string> | undefined
  return {
    app,
    clock,
    http,
    listen: () => (address ??= http.listen({ port: 0, host: '127.0.0.1' })),
    as: (who, from) =>
      createClient(contract, {
        baseUrl: 'http://localhost/api',
        token: () => (typeof who === 'string' || who === null ? who : who.token),
        fetch: injectFetch(http, from),
      }),
    make: maker(app),
    mails: async () => (await newestMails(app.db, 1000)).map((row) => openMail(app, row)),
    runJobs: (list) => runJobs(database.url, list),
    close: () => opened.disposeAsync(),
  }
}

async function runJobs(url: string, list: Job<never>[]): Promise<number> {
  const boss = new PgBoss({
    connectionString: url,
    schema: 'pgboss',
    max: 1,
    migrate: false,
    supervise: false,
    schedule: false,
  })
  await boss.start()
  let ran = 0
  try {
    for (const job of list) {
      if (!(await boss.getQueue(job.name))) continue
      for (let batch = await boss.fetch(job.name); batch.length > 0; batch = await boss.fetch(job.name)) {
        for (const item of batch) {
          await job.run(item.data as never)
          await boss.complete(job.name, item.id)
          ran++
        }
      }
    }
  } finally {
    await boss.stop({ graceful: false })
  }
  return ran
}
