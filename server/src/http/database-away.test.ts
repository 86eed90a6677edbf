import { sql } from 'drizzle-orm'
import { Writable } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'
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
  const written = new Writable({
    write: (chunk, _, done) => {
      log += String(chunk)
      done()
    },
  })
  t = await startTestApp({ via: proxy.via, log: createLog({ SHOAL_LOG_LEVEL: 'info' }, written) })
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
]

async function call(method: 'GET' | 'POST', url: string, payload: object | undefined) {
  const startedMs = performance.now()
  const headers = { authorization: `Bearer ${user.token}` }
  const answer = await t.http.inject({ method, url, headers, ...(payload ? { payload } : {}) })
  return { url, status: answer.statusCode, body: answer.json<unknown>(), answer, ms: performance.now() - startedMs }
}

/** Of all at once: none of them waits for another one. */
const answers = async () =>
  (await Promise.all(calls.map((c) => call(...c)))).map(({ url, status, body, answer, ms }) => ({
    url,
    status,
    body: { ...(body as object), requestId: null },
    retryAfter: answer.headers['retry-after'],
    isInTime: ms < 3_000,
  }))

const away = calls.map(([, url]) => ({
  url,
  status: 503,
  body: {
    error: 'The database of Shoal does not answer. Squids keep running. Please try again in a moment.',
    code: 'DATABASE_UNAVAILABLE',
    requestId: null,
  },
  retryAfter: '15',
  isInTime: true,
}))

const healed = () => until(async () => expect((await call('GET', '/api/v1/user', undefined)).status).toBe(200))

describe('with the database away every call answers 503 within three seconds, and all is well when it is back', () => {
  afterEach(async () => {
    proxy.thaw()
    await proxy.start().catch(() => undefined)
    await healed()
  })

  test('stopped: connections are refused', async () => {
    await proxy.stop()
    expect(await answers()).toEqual(away)
  })

  test('frozen, with connections open and without', async () => {
    await healed()
    proxy.freeze()
    expect(await answers()).toEqual(away)
    expect(await answers()).toEqual(away)
  })

  test('frozen in the middle of a transaction', async () => {
    const work = withRequestTimeouts(() =>
      t.app.db.transaction(async (tx) => {
        await tx.execute(sql`select 1`)
        proxy.freeze()
        await tx.execute(sql`select 2`)
      }),
    )
    await expect(work).rejects.toSatisfy(isUnavailable)
  })

  test('transactions that could not begin leave no connection taken', async () => {
    const begun = () => t.app.db.transaction(() => Promise.resolve())
    await begun()
    proxy.freeze()
    const works = Array.from({ length: 10 }, () => withRequestTimeouts(begun))
    for (const work of works) await expect(work).rejects.toSatisfy(isUnavailable)
    proxy.thaw()
    await until(() => expect(t.app.database.pool.totalCount).toBe(t.app.database.pool.idleCount))
  })

  test('stopped between two statements of a transaction', async () => {
    const work = t.app.db.transaction(async (tx) => {
      await tx.execute(sql`select 1`)
      await proxy.stop()
      await tx.execute(sql`select 2`)
    })
    await expect(work).rejects.toSatisfy(isUnavailable)
  })

  test('all connections in use', async () => {
    const taken = await Promise.all(Array.from({ length: 10 }, () => t.app.database.pool.connect()))
    try {
      expect(await answers()).toEqual(away)
    } finally {
      for (const client of taken) client.release()
    }
  })
})

test.each([
  ['57P01', 'ended by its administrator'],
  ['57P03', 'starting up or recovering'],
  ['53300', 'without a connection left'],
  ['53100', 'without room on its disk'],
  ['25006', 'a standby'],
])('Postgres that says %s, %s, is away', async (code) => {
  const raise = sql.raw(`do $$ begin raise exception using errcode = '${code}', message = 'for now'; end $$`)
  await expect(t.app.db.execute(raise)).rejects.toSatisfy(isUnavailable)
})

test('a wrong question is no reason to call the database away', async () => {
  const answer = t.app.db.execute(sql`select nothing`)
  await expect(answer).rejects.toSatisfy((error) => !isUnavailable(error))
})

test('a slow question of a database that answers is waited for, up to its limit', async () => {
  const slow = (seconds: number) => t.app.db.execute(sql`select pg_sleep(${seconds})`)
  await withRequestTimeouts(() => slow(3.2))
  await expect(withRequestTimeouts(() => slow(60), 1_500)).rejects.toSatisfy(isUnavailable)
  // Postgres does not work on it any more.
  await until(async () => {
    const { rows } = await t.app.database.pool.query(
      `select 1 from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid() and state = 'active' and datname = current_database()`,
    )
    expect(rows).toEqual([])
  })
})

test('no failure of a query shows what it was asked with', () => {
  expect(log).toContain('request failed')
  expect(log).not.toContain('a@example.com')
})
