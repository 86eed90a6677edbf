import { Client } from 'pg'
import { text } from 'node:stream/consumers'
import { createGunzip } from 'node:zlib'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { parseManifest } from '../manifest/manifest.ts'
import { parsePlan } from '../manifest/plan.ts'
import { deleteSquid, insertSquid } from '../versions/store.ts'
import { limitConnections } from './connections.ts'
import { selectSquidDatabase } from './database-store.ts'
import { dropOrphanedDatabases, dropDatabase, ownerConnection, readerConnection, syncDatabase } from './database.ts'
import { exportDatabase } from './export/export-database.ts'
import { logins } from './logins.ts'
import { observeDatabases } from './measuring/observe-databases.ts'
import { reconcileDatabases } from './reconcile-databases.ts'
import { servers } from './servers.ts'
import { createStatementWatch } from './statements/statement-watch.ts'
import { startSecondServer, type SecondServer } from './testing/second-server.ts'

let t: TestApp
let org: TestOrg
let second: SecondServer
let ids: number[] = []
const clients: Client[] = []
beforeAll(async () => {
  t = await startTestApp()
  org = await t.make.org()
  second = await startSecondServer(30)
})
beforeEach(() => second.addTo(t.app))
afterEach(async () => {
  await second.proxy.start().catch(() => undefined)
  for (const client of clients.splice(0)) await client.end().catch(() => undefined)
  for (const id of ids) {
    await dropDatabase(t.app, id)
    await deleteSquid(t.app.db, id)
  }
  ids = []
})
afterAll(async () => {
  await second?.close()
  await t?.close()
})

const manifest = JSON.stringify({ deploy: { addons: { postgres: {} }, processor: { cmd: ['x'] } } })
const plan = (scale?: object) => parsePlan(parseManifest(JSON.stringify({ ...JSON.parse(manifest), scale })))

/** Creates a version with a database. */
async function create(scale?: object): Promise<number> {
  const name = `squid-${Math.random().toString(36).slice(2, 10)}`
  const { id } = await insertSquid(t.app.db, { orgId: org.id, name, slot: 'v1' })
  ids.push(id)
  await syncDatabase(t.app, { squidId: id, plan: plan(scale), isPlayground: false })
  return id
}

/** Creates a version on the second server. */
async function createOnSecond(): Promise<number> {
  second.addTo(t.app, { main: { maxDatabases: 0 } })
  const id = await create()
  second.addTo(t.app)
  return id
}

async function createOnMain(): Promise<number> {
  second.addTo(t.app, { second: { maxDatabases: 0 } })
  const id = await create()
  second.addTo(t.app)
  return id
}

const serverOf = async (id: number) => (await selectSquidDatabase(t.app.db, id))?.server
const databaseOf = async (id: number) => (await selectSquidDatabase(t.app.db, id))?.database ?? ''
const onSecond = async (query: string, values: unknown[] = []) =>
  (await second.cluster.pool.query<Record<string, unknown>>(query, values)).rows
const existsOnSecond = async (name: string) =>
  (await onSecond('select 1 from pg_database where datname = $1', [name])).length > 0

async function signIn(url: string): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  clients.push(client)
  return client
}

test('a database is created on the server with the highest product of weight and capacity, until no server has capacity', async () => {
  second.addTo(t.app, { main: { maxDatabases: 1 }, second: { maxDatabases: 1, weight: 2 } })
  expect(await serverOf(await create())).toBe('second')
  expect(await serverOf(await create())).toBe('main')
  await expect(create()).rejects.toThrow('has no capacity for another database')
})

test('a database that is being moved to a server already counts towards the databases and connections of that server', async () => {
  // The second server has 17 connections for versions, each of which needs 7.
  const moving = [await createOnMain(), await createOnMain()]
  for (const id of moving) await servers.moves.setTarget(t.app.db, id, 'second')
  second.addTo(t.app, { second: { weight: 1000 } })
  expect(await serverOf(await create())).toBe('main')
  await servers.moves.setTarget(t.app.db, moving[1] ?? 0, null)
  second.addTo(t.app, { main: { maxDatabases: 0 }, second: { maxDatabases: 1 } })
  await expect(create()).rejects.toThrow('has no capacity for another database')
  await servers.moves.setTarget(t.app.db, moving[0] ?? 0, null)
  expect(await serverOf(await create())).toBe('second')
})

test('a server without free connections gets no further database, but the versions on it can be deployed again', async () => {
  // The second server has 17 connections for versions, each of which needs 7.
  second.addTo(t.app, { second: { weight: 1000 } })
  const id = await create()
  expect(await serverOf(id)).toBe('second')
  expect(await serverOf(await create())).toBe('second')
  expect(await serverOf(await create())).toBe('main')
  await syncDatabase(t.app, { squidId: id, plan: plan(), isPlayground: false })
  expect(await serverOf(id)).toBe('second')
})

test('dedicated versions get databases only on servers for them, and collocated versions only on others', async () => {
  second.addTo(t.app, { main: { weight: 1000 }, second: { isForDedicated: true } })
  const [dedicated, collocated] = [await create({ dedicated: true }), await create()]
  expect(await serverOf(dedicated)).toBe('second')
  expect(await serverOf(collocated)).toBe('main')
  expect(await servers.databasesOn(t.app.db, 'second')).toBe(1)
  // A database stays on its server.
  await syncDatabase(t.app, { squidId: dedicated, plan: plan(), isPlayground: false })
  expect(await serverOf(dedicated)).toBe('second')
  await second.proxy.stop()
  await expect(create({ dedicated: true })).rejects.toThrow('No Postgres server of squids responds')
  await second.proxy.start()
  second.addTo(t.app, { second: { maxDatabases: 0 } })
  expect(await serverOf(await create({ dedicated: true }))).toBe('main')
})

test('a version connects to the server of its database, where it is also exported, measured and limited', async () => {
  const [here, there] = [await createOnMain(), await createOnSecond()]
  const owner = await ownerConnection(t.app, there)
  expect(owner?.port).toBe(second.port)
  expect((await readerConnection(t.app, there))?.port).toBe(second.port)
  expect((await ownerConnection(t.app, here))?.port).toBe(Number(new URL(t.app.database.url).port || 5432))
  const client = await signIn(owner?.url ?? '')
  await client.query(`create table blocks as select 42 as height`)
  const script = await exportDatabase(t.app, {
    squidId: there,
    reference: 'x@v1',
    signal: new AbortController().signal,
  })
  expect(await text(script.pipe(createGunzip()))).toContain('42')
  await observeDatabases(t.app)
  for (const id of [here, there]) expect((await selectSquidDatabase(t.app.db, id))?.usedBytes).toBeGreaterThan(0)
  await onSecond(`alter role "${await databaseOf(there)}" connection limit 1`)
  await limitConnections(t.app)
  const [role] = await onSecond('select rolconnlimit as limit from pg_roles where rolname = $1', [
    await databaseOf(there),
  ])
  expect(role?.['limit']).toBeGreaterThan(1)
})

test('long statements are ended on every server', async () => {
  const id = await createOnSecond()
  const client = await signIn((await ownerConnection(t.app, id))?.url ?? '')
  await onSecond(`alter role "${await databaseOf(id)}" reset statement_timeout`)
  await t.app.database.pool.query('update squid_databases set statement_ms = 1 where squid_id = $1', [id])
  await client.query('set statement_timeout = 0')
  const outcome = client.query('select pg_sleep(600)').then(
    () => 'finished',
    (error: Error) => error.message,
  )
  const running = `select 1 from pg_stat_activity
    where query = 'select pg_sleep(600)' and state = 'active' and clock_timestamp() - query_start > interval '10 ms'`
  await expect.poll(() => onSecond(running)).toHaveLength(1)
  // A second round would end the session if the cancellation had not arrived yet.
  await createStatementWatch(t.app, { graceMs: 0 })()
  expect(await outcome).toContain('canceling statement')
})

test('the login of a processor is opened and closed on the server of its version', async () => {
  const id = await createOnSecond()
  const user = { workload: `${id}.1`, container: 'processor' }
  expect(await logins.areAllowed(t.app, id)).toBe(true)
  const connection = await t.app.db.transaction((tx) => logins.add(t.app, tx, id, user))
  await logins.open(t.app, id, user.workload)
  expect(connection?.port).toBe(second.port)
  const session = await signIn(connection?.url ?? '')
  expect(await logins.close(t.app, id, () => true)).toBe(true)
  await expect(session.query('select 1')).rejects.toThrow()
  await expect(signIn(connection?.url ?? '')).rejects.toThrow('not permitted to log in')
  await logins.dropClosed(t.app, id)
  expect(await onSecond('select 1 from pg_roles where rolname = $1', [connection?.user])).toEqual([])
})

test('renewing the passwords of owners ends the sessions with the old passwords on every server', async () => {
  const ids = [await createOnMain(), await createOnSecond()]
  const sessions = await Promise.all(ids.map(async (id) => await signIn((await ownerConnection(t.app, id))?.url ?? '')))
  await logins.renewOwnerPasswords(t.app, async () => {})
  for (const session of sessions) await expect(session.query('select 1')).rejects.toThrow()
  for (const id of ids) await (await signIn((await ownerConnection(t.app, id))?.url ?? '')).query('select 1')
})

test('after a restore, missing databases are created on their server, and databases without a row are removed', async () => {
  const [withoutRow, withoutDatabase] = [await createOnSecond(), await createOnSecond()]
  await second.cluster.pool.query(`drop database "${await databaseOf(withoutDatabase)}" with (force)`)
  await second.cluster.pool.query(`drop role "${await databaseOf(withoutDatabase)}_ro"`)
  const name = await databaseOf(withoutRow)
  await t.app.database.pool.query('delete from squid_databases where squid_id = $1', [withoutRow])
  expect(await reconcileDatabases(t.app, new Set())).toBeInstanceOf(Array)
  expect(await existsOnSecond(await databaseOf(withoutDatabase))).toBe(true)
  expect(await dropOrphanedDatabases(t.app)).toEqual([withoutRow])
  expect(await existsOnSecond(name)).toBe(false)
})

test('while a server does not respond, the versions on other servers are measured, limited and deployed', async () => {
  const [here, there] = [await createOnMain(), await createOnSecond()]
  await second.proxy.stop()
  await expect(observeDatabases(t.app)).rejects.toThrow('The Postgres server "second" of squids failed')
  expect((await selectSquidDatabase(t.app.db, here))?.usedBytes).toBeGreaterThan(0)
  expect((await selectSquidDatabase(t.app.db, there))?.usedBytes).toBeNull()
  await expect(limitConnections(t.app)).rejects.toThrow('"second"')
  expect(await serverOf(await create())).toBe('main')
  await syncDatabase(t.app, { squidId: here, plan: plan(), isPlayground: false })
  const request = { squidId: there, reference: 'x@v1', signal: new AbortController().signal }
  await expect(exportDatabase(t.app, request)).rejects.toThrow('The Postgres server of this database does not respond')
  const reconciled = new Set<string>()
  await reconcileDatabases(t.app, reconciled)
  expect([...reconciled]).toEqual(['main'])
  await second.proxy.start()
  await reconcileDatabases(t.app, reconciled)
  expect([...reconciled]).toEqual(['main', 'second'])
})

test('a server with databases cannot be removed from the setting', async () => {
  await createOnSecond()
  await createOnSecond()
  await servers.requireListed(t.app.db, t.app.databaseHosts)
  const { all } = t.app.databaseHosts
  const onlyMain = { all: all.slice(0, 1), get: t.app.databaseHosts.get }
  await expect(servers.requireListed(t.app.db, onlyMain)).rejects.toThrow(
    '2 databases are on, or being moved to, the server "second", which it does not list',
  )
})
