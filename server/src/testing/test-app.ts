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
import { maker, type Make, type TestUser } from './make.ts'
import { cloneDatabase } from './test-database.ts'

export type TestAppOptions = {
  /** Settings, as in the environment. SHOAL_DATA_DIR is always a new directory. */
  env?: Record<string, string>
  clock?: App['clock']
  /** Default: `createSimRuntime` and `createSimBuilder` of the runtime. */
  runtime?: SimRuntime
  /** Default: the runtime's. */
  directory?: Directory
  builder?: Builder
  external?: App['external']
  /** Changes the URL of the database, for example to that of a proxy. */
  via?: (url: string) => string
  log?: App['log']
}

type InjectFetchOptions = {
  /** The remote address of the requests; loopback by default. */
  ip?: string
}

export type TestApp = {
  app: WorkerApp
  /** Moves only by `advance`. Not used by the app if the options contain another clock. */
  clock: ReturnType<typeof fakeClock>
  http: FastifyInstance
  /** Listens on a free loopback port and returns `http://127.0.0.1:<port>`, for streams and real clients. Idempotent. */
  listen: () => Promise<string>
  /** A typed client with the session of a user, with a token, or without credentials. */
  as: (who: Pick<TestUser, 'token'> | string | null, options?: InjectFetchOptions) => Client<Contract>
  make: Make
  /** All mails, newest first. */
  mails: () => Promise<Mail[]>
  /** Runs all queued jobs of these types and returns their number. @throws the error of a failed job */
  runJobs: (jobs: Job<never>[]) => Promise<number>
  close: () => Promise<void>
}

/** Starts the whole server on a new database, without a port. All of it is real except for the clock and the runtime. */
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

/** A `fetch` that calls the server without a port. Supports text bodies; a streamed response resolves when the stream has ended. */
function injectFetch(server: FastifyInstance, options: InjectFetchOptions = {}): typeof fetch {
  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const response = await server.inject({
      method: (init.method ?? 'GET') as 'GET',
      url: `${url.pathname}${url.search}`,
      headers: Object.fromEntries(new Headers(init.headers)),
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
