import { Writable } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
import { sql } from '../db/sql.ts'
import { withRequestTimeouts } from '../db/query-timeouts.ts'
import { isUnavailable } from '../db/unavailable.ts'
import { createLog } from '../startup/log.ts'
import { startTestApp, type TestApp, type TestUser } from '../testing/index.ts'
import { startPostgresProxy, type PostgresProxy } from '../testing/postgres-proxy.ts'
import { until } from '../testing/until.ts'

let proxy: PostgresProxy
let t: TestApp
let user: TestUser
let log = ''
beforeAll(async () => {
  proxy = await startPostgresProxy(inject('postgresUrl'))
  const logStream = new Writable({
    write: (chunk, _, done) => {
      log += String(chunk)
      done()
    },
  })
  t = await startTestApp({ via: proxy.via, log: createLog({ SHOAL_LOG_LEVEL: 'info' }, logStream) })
  user = await t.make.user()
})
afterAll(async () => {
  await t?.close()
  await proxy?.close()
})

const calls: Parameters<typeof call>[] = [
  ['GET', '/api/v1/user', undefined],
  ['GET', '/api/v1/orgs', undefined],
  ['POST', '/api/v1/orgs', { code: 'new-one', name: 'New', email: 'a@example.com' }],
  ['POST', '/api/v1/auth/signin', { email: 'a@example.com', password: 'correct-horse', altcha: 'x' }],
  ['POST', '/api/v1/auth/restore', { email: 'a@example.com' }],
  ['GET', '/status/acme.json', undefined],
]

async function call(method: 'GET' | 'POST', url: string, payload: object | undefined) {
  const startedMs = performance.now()
  const headers = { authorization: `Bearer ${user.token}` }
  const response = await t.http.inject({ method, url, headers, ...(payload ? { payload } : {}) })
  return {
    url,
    status: response.statusCode,
    body: response.json<unknown>(),
    response,
    ms: performance.now() - startedMs,
  }
}

/** Sends all calls concurrently, and returns the responses. */
const responses = async () =>
  (await Promise.all(calls.map((c) => call(...c)))).map(({ url, status, body, response, ms }) => ({
    url,
    status,
    body: { ...(body as object), requestId: null },
    retryAfter: response.headers['retry-after'],
    // Three seconds on a quiet machine. Without its own timeout, a call takes 30.
    isInTime: ms < 10_000,
  }))

const unavailableResponses = calls.map(([, url]) => ({
  url,
  status: 503,
  body: {
    error: "Shoal's database is not responding. Squids keep running. Please try again in a moment.",
    code: 'DATABASE_UNAVAILABLE',
    requestId: null,
  },
  retryAfter: '15',
  isInTime: true,
}))

const untilRecovered = () => until(async () => expect((await call('GET', '/api/v1/user', undefined)).status).toBe(200))

describe('while the database is unavailable, every call returns 503 within seconds, and succeeds again afterwards', () => {
  afterEach(async () => {
    proxy.thaw()
    await proxy.start().catch(() => undefined)
    await untilRecovered()
  })

  test('when Postgres is stopped and refuses connections', async () => {
    await proxy.stop()
    expect(await responses()).toEqual(unavailableResponses)
  })

  test('when Postgres is frozen, with and without open connections', async () => {
    await untilRecovered()
    proxy.freeze()
    expect(await responses()).toEqual(unavailableResponses)
    expect(await responses()).toEqual(unavailableResponses)
  })

  test('when Postgres freezes in the middle of a transaction', async () => {
    const transaction = withRequestTimeouts(() =>
      t.app.db.transaction(async (tx) => {
        await tx.execute(sql`select 1`)
        proxy.freeze()
        await tx.execute(sql`select 2`)
      }),
    )
    await expect(transaction).rejects.toSatisfy(isUnavailable)
  })

  test('transactions that could not begin leak no connections', async () => {
    const begin = () => t.app.db.transaction(() => Promise.resolve())
    await begin()
    proxy.freeze()
    const transactions = Array.from({ length: 10 }, () => withRequestTimeouts(begin))
    for (const transaction of transactions) await expect(transaction).rejects.toSatisfy(isUnavailable)
    proxy.thaw()
    await until(() => expect(t.app.database.pool.totalCount).toBe(t.app.database.pool.idleCount))
  })

  test('when Postgres stops between two statements of a transaction', async () => {
    const transaction = t.app.db.transaction(async (tx) => {
      await tx.execute(sql`select 1`)
      await proxy.stop()
      await tx.execute(sql`select 2`)
    })
    await expect(transaction).rejects.toSatisfy(isUnavailable)
  })

  test('when all connections are in use', async () => {
    const clients = await Promise.all(Array.from({ length: 10 }, () => t.app.database.pool.connect()))
    try {
      expect(await responses()).toEqual(unavailableResponses)
    } finally {
      for (const client of clients) client.release()
    }
  })
})

test.each([
  ['57P01', 'shut down by its administrator'],
  ['57P03', 'starting up or recovering'],
  ['53300', 'without free connections'],
  ['53100', 'without disk space'],
  ['25006', 'in standby'],
])('an error with code %s (Postgres is %s) counts as unavailable', async (code) => {
  const raise = sql.raw(`do $$ begin raise exception using errcode = '${code}', message = 'for now'; end $$`)
  await expect(t.app.db.execute(raise)).rejects.toSatisfy(isUnavailable)
})

test('an invalid query does not count as unavailable', async () => {
  const result = t.app.db.execute(sql`select nothing`)
  await expect(result).rejects.toSatisfy((error) => !isUnavailable(error))
})

test('a slow query on a responsive database may run until its timeout', async () => {
  const slow = (seconds: number) => t.app.db.execute(sql`select pg_sleep(${seconds})`)
  await withRequestTimeouts(() => slow(3.2))
  await expect(withRequestTimeouts(() => slow(60), 1_500)).rejects.toSatisfy(isUnavailable)
  // Postgres has cancelled the query.
  await until(async () => {
    const { rows } = await t.app.database.pool.query(
      `select 1 from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid() and state = 'active' and datname = current_database()`,
    )
    expect(rows).toEqual([])
  })
})

test('the log of failed queries does not contain their parameters', () => {
  expect(log).toContain('request failed')
  expect(log).not.toContain('a@example.com')
})
