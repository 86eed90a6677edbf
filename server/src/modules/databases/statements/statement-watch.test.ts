import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from 'vitest'
import type { App } from '../../../app.ts'
import { connect } from '../../../db/database.ts'
import { singleHost } from '../../../db/database-hosts.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { startLogIngest } from '../../logs/index.ts'
import { parseManifest } from '../../manifest/manifest.ts'
import { parsePlan } from '../../manifest/plan.ts'
import { insertSquid } from '../../versions/store.ts'
import { ownerConnection, readerConnection, syncDatabase } from '../database.ts'
import { createStatementWatch, limitOf } from './statement-watch.ts'

let t: TestApp
let org: TestOrg
let squidCount = 0
const clients: Client[] = []
beforeAll(async () => {
  t = await startTestApp()
  org = await t.make.org()
})
afterEach(async () => void (await Promise.allSettled(clients.splice(0).map((client) => client.end()))))
afterAll(() => t?.close())

const plan = (config: object) =>
  parsePlan(parseManifest(JSON.stringify({ deploy: { addons: { postgres: { config } }, processor: { cmd: ['x'] } } })))

let squidId: number
let reference: string
beforeEach(async () => {
  const name = `squid-${++squidCount}`
  squidId = (await insertSquid(t.app.db, { orgId: org.id, name, slot: 'v1' })).id
  reference = `${name}@v1`
  const limits = { statement_timeout: '1s', idle_in_transaction_session_timeout: '1s' }
  await syncDatabase(t.app, { squidId, plan: plan(limits), isPlayground: false })
})

async function open(url: string | undefined): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  clients.push(client)
  return client
}

/** Opens a session as the owner of the database, which disables its limits. */
async function openUnlimited(): Promise<Client> {
  const client = await open((await ownerConnection(t.app, squidId))?.url)
  await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
  return client
}

const codeOf = (query: Promise<unknown>): Promise<string | null> =>
  query.then(
    () => null,
    (error: unknown) => (error as { code?: string }).code ?? 'connection lost',
  )
const queryCanceled = '57014'
const adminShutdown = '57P01'

/**
 * Runs rounds of the watch until `isDone` returns a truthy value. Adds no time to the limits, so that limits of a second are
 * enough.
 */
async function watchUntil(isDone: () => unknown, app: App = t.app): Promise<void> {
  const watch = createStatementWatch(app, { graceMs: 0 })
  await expect
    .poll(
      async () => {
        await watch()
        return isDone()
      },
      { timeout: 60_000, interval: 100 },
    )
    .toBeTruthy()
}

const notices = async (): Promise<string[]> => {
  const { rows } = await t.app.database.pool.query<{ message: string }>(
    'select message from squid_notices where squid_id = $1 order by id',
    [squidId],
  )
  return rows.map(({ message }) => message)
}

test('the limits of the manifest apply, up to the limit of the installation', () => {
  const limits = { role: 'sq_1', statementMs: 5_000, idleInTransactionMs: 0 }
  const session = { role: 'sq_1', isIdle: false, isMaintenance: false }
  const max = 60_000
  expect(limitOf(session, limits, max)).toBe(5_000)
  expect(limitOf(session, limits, 2_000)).toBe(2_000)
  expect(limitOf({ ...session, isMaintenance: true }, limits, max)).toBe(max)
  expect(limitOf({ ...session, isIdle: true }, limits, max)).toBe(max)
  expect(
    limitOf({ ...session, isIdle: true, isMaintenance: true }, { ...limits, idleInTransactionMs: 7_000 }, max),
  ).toBe(7_000)
  expect(limitOf(session, { ...limits, statementMs: 0 }, max)).toBe(max)
  expect(limitOf(session, { ...limits, statementMs: null }, max)).toBe(max)
  expect(limitOf({ ...session, role: 'sq_1_ro' }, limits, max)).toBe(max)
})

test('a statement is canceled at its limit even if its session has disabled the limit, and the log of the version shows why', async () => {
  const client = await openUnlimited()
  let code: string | null | undefined
  void codeOf(client.query(`select pg_sleep(60), 'the text of the statement'`)).then((result) => (code = result))
  await watchUntil(() => code)
  expect(code).toBe(queryCanceled)
  // The session continues.
  expect((await client.query('select 1 as one')).rows).toEqual([{ one: 1 }])

  const ingest = startLogIngest(t.app)
  try {
    const history = async () => (await t.as(org.admin).logs.history({ params: { code: org.code, reference } })).logs
    await expect.poll(async () => (await history()).length).toBe(1)
    const msg = expect.stringMatching(
      /^Shoal canceled a statement in the database: it ran for [\d.]+ s, longer than 1 s \(statement_timeout of the manifest\)\.$/,
    )
    expect(await history()).toMatchObject([
      { container: 'db', level: 'WARNING', payload: { level: 'WARNING', ns: 'shoal', msg } },
    ])
    expect(await notices()).toEqual([])
  } finally {
    await ingest.close()
  }
})

test('a session whose statement catches the cancellation is ended', async () => {
  const client = await openUnlimited()
  let code: string | null | undefined
  const stubborn = `do $$ begin loop begin perform pg_sleep(60); exception when query_canceled then null; end; end loop; end $$`
  void codeOf(client.query(stubborn)).then((result) => (code = result))
  await watchUntil(() => code)
  expect(code).toBe(adminShutdown)
  expect((await notices()).at(-1)).toContain('its statement continued after it was canceled')
})

test('a transaction that stays idle is ended', async () => {
  const client = await openUnlimited()
  let isEnded = false
  client.on('end', () => (isEnded = true))
  await client.query('begin; select 1')
  await watchUntil(() => isEnded)
  expect(await notices()).toEqual([expect.stringContaining('its transaction was idle for')])
})

test('only the limit of the installation applies to statements that build indexes and to the read-only role; none applies to the role of Shoal', async () => {
  const builder = await openUnlimited()
  await builder.query('create table built (n int)')
  const reader = await open((await readerConnection(t.app, squidId))?.url)
  const superuser = await open(t.app.databaseHosts.get('main').cluster.url)
  const results: (string | null)[] = []
  const sleeping = [
    builder.query('begin; lock table built in share mode; select pg_sleep(3)'),
    reader.query('select pg_sleep(3)'),
    superuser.query('select pg_sleep(3)'),
  ].map(async (query) => void results.push(await codeOf(query)))
  // The end of an ordinary statement in another session shows that the limit of the manifest has passed.
  let code: string | null | undefined
  void codeOf((await openUnlimited()).query('select pg_sleep(60)')).then((result) => (code = result))
  await watchUntil(() => code)
  await Promise.all(sleeping)
  expect(results).toEqual([null, null, null])

  const app = { ...t.app, config: { ...t.app.config, SHOAL_SQUIDS_STATEMENT_MINUTES: 1 / 60 } }
  const codes: (string | null)[] = []
  for (const client of [builder, reader])
    void codeOf(client.query('select pg_sleep(60)')).then((result) => codes.push(result))
  await watchUntil(() => codes.length === 2, app)
  expect(codes).toEqual([queryCanceled, queryCanceled])
  expect((await notices()).join()).toContain('of the read-only user in the database: it ran for')
  expect((await notices()).join()).toContain('(the limit of this installation)')
})

test('a statement is canceled at its limit even if the role of Shoal is not a superuser', async () => {
  await t.app.database.pool.query(`create role operator_${squidId} login password 'x' createrole createdb`)
  const url = new URL(t.app.database.url)
  Object.assign(url, { username: `operator_${squidId}`, password: 'x' })
  const cluster = connect(url.href, { max: 2 })
  const app = { ...t.app, databaseHosts: singleHost(cluster) }
  try {
    const { id } = await insertSquid(t.app.db, { orgId: org.id, name: `squid-${++squidCount}`, slot: 'v1' })
    squidId = id
    await syncDatabase(app, { squidId: id, plan: plan({ statement_timeout: '1s' }), isPlayground: false })
    const client = await openUnlimited()
    let code: string | null | undefined
    void codeOf(client.query('select pg_sleep(60)')).then((result) => (code = result))
    await watchUntil(() => code, app)
    expect(code).toBe(queryCanceled)
  } finally {
    await cluster.close()
  }
})

test('a deployment whose manifest allows longer statements than the installation returns a warning', async () => {
  const sync = (value: string) =>
    syncDatabase(t.app, { squidId, plan: plan({ statement_timeout: value }), isPlayground: false })
  expect(await sync('60min')).toEqual([])
  expect(await sync('2h')).toEqual([expect.stringContaining('ends every statement that runs for more than 60 min')])
})
