import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { makeVersion } from '../modules/versions/testing/make-version.ts'
import { startTestApp, type TestApp, type TestOrg } from '../testing/index.ts'
import { until } from '../testing/until.ts'

let t: TestApp
let busy: TestOrg
let other: TestOrg
beforeAll(async () => {
  t = await startTestApp()
  busy = await t.make.org()
  other = await t.make.org()
  for (const org of [busy, other]) await makeVersion(t.app, org, {})
})
afterAll(() => t?.close())

/** Makes all searches of logs wait. Returns functions that count those that wait in Postgres, and that let them continue. */
async function blockSearches() {
  // Within a transaction, Postgres would always return the first count.
  const [client, observer] = [0, 1].map(() => new pg.Client({ connectionString: t.app.database.url })) as [
    pg.Client,
    pg.Client,
  ]
  for (const each of [client, observer]) {
    await each.connect()
    onTestFinished(() => each.end())
  }
  await client.query('begin; lock table log_streams in access exclusive mode')
  const waiting = `select count(*)::int as count from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query ilike '%log_streams%'`
  const countWaiting = async () => (await observer.query<{ count: number }>(waiting)).rows[0]?.count ?? 0
  return { countWaiting, unblock: () => client.query('commit') }
}

async function get(org: TestOrg, path: string): Promise<Response> {
  const url = `${await t.listen()}/api/v1/orgs/${org.code}/${path}`
  return fetch(url, { headers: { authorization: `Bearer ${org.admin.token}` } })
}

test.each(['history', 'download'])(
  'requests to %s of one organization that take long leave connections to the database for others',
  async (kind) => {
    const { countWaiting, unblock } = await blockSearches()
    const searches = Array.from({ length: 20 }, () => get(busy, `squids/test-squid@v1/logs/${kind}`))
    await until(async () => expect(await countWaiting()).toBeGreaterThan(1))
    for (let i = 0; i < 10; i++) expect((await get(other, 'squids')).status).toBe(200)
    await unblock()
    await Promise.all(searches)
    expect((await get(busy, `squids/test-squid@v1/logs/${kind}`)).status).toBe(200)
  },
)

test('an organization with very many requests that wait receives status 429, and others do not', async () => {
  const { unblock } = await blockSearches()
  const rejected: Response[] = []
  const searches = Array.from({ length: 300 }, async () => {
    const response = await get(busy, 'squids/test-squid@v1/logs/history')
    if (response.status === 429) rejected.push(response)
  })
  await until(() => expect(rejected.length).toBeGreaterThan(0))
  expect(rejected[0]?.headers.get('retry-after')).toBe('15')
  expect(await rejected[0]?.json()).toMatchObject({ code: 'TOO_MANY_CONCURRENT_REQUESTS' })
  await until(async () => expect((await get(other, 'squids')).status).toBe(200))
  await unblock()
  await Promise.all(searches)
  expect((await get(busy, 'squids/test-squid@v1/logs/history')).status).toBe(200)
})

test('requests of one address whose authentication takes long leave connections to the database for other addresses', async () => {
  const client = new pg.Client({ connectionString: t.app.database.url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('begin; lock table api_tokens in access exclusive mode')
  const path = `/api/v1/orgs/${other.code}/squids`
  const unknown = Array.from({ length: 60 }, (_, index) =>
    t.http.inject({ url: path, remoteAddress: '203.0.113.7', headers: { authorization: `token shoal_${index}` } }),
  )
  const authorization = `Bearer ${other.admin.token}`
  for (let i = 0; i < 10; i++) {
    const response = await t.http.inject({ url: path, remoteAddress: '203.0.113.8', headers: { authorization } })
    expect(response.statusCode).toBe(200)
  }
  await client.query('commit')
  await Promise.all(unknown)
  const headers = { authorization: 'token shoal_unknown' }
  const response = await t.http.inject({ url: path, remoteAddress: '203.0.113.7', headers })
  expect(response.statusCode).toBe(401)
})
