import { Client, Pool } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { parseManifest } from '../manifest/manifest.ts'
import { parsePlan } from '../manifest/plan.ts'
import { insertSquid } from '../versions/store.ts'
import { shareWithLogins } from './connections.ts'
import { dropDatabase, eraseDatabase, ownerConnection, syncDatabase, type SquidConnection } from './database.ts'
import { mayCreateLogins } from './logins-store.ts'
import { logins } from './logins.ts'
import { observeDatabases } from './measuring/observe-databases.ts'

let t: TestApp
let org: TestOrg
let count = 0
let squidId: number
const clients: Client[] = []
beforeAll(async () => {
  t = await startTestApp()
  org = await t.make.org()
})
afterEach(async () => {
  await Promise.allSettled(clients.splice(0).map((client) => client.end()))
  await dropDatabase(t.app, squidId)
})
afterAll(() => t?.close())

const plan = parsePlan(parseManifest('deploy: { addons: { postgres: {} }, processor: { cmd: [x] } }'))

beforeEach(async () => {
  squidId = (await insertSquid(t.app.db, { orgId: org.id, name: `squid-${++count}`, slot: 'v1' })).id
  await syncDatabase(t.app, { squidId, plan, isPlayground: false })
})

const user = (container = 'processor', workload = `${squidId}.1`) => ({ workload, container })

/** Creates and opens a login, as Shoal does before it starts a processor. */
async function login(of = user()): Promise<SquidConnection> {
  const connection = await t.app.db.transaction((tx) => logins.add(t.app, tx, squidId, of))
  await logins.open(t.app, squidId, of.workload)
  if (!connection) throw new Error('no database')
  return connection
}

async function signIn({ url }: SquidConnection): Promise<Client> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  clients.push(client)
  return client
}

const close = (container = 'processor') =>
  logins.close(t.app, squidId, (of) => of.workload === user().workload && of.container === container)

async function owner(): Promise<SquidConnection> {
  const connection = await ownerConnection(t.app, squidId)
  if (!connection) throw new Error('no database')
  return connection
}

const rolesOf = async (prefix: string) =>
  (
    await t.app.databaseHosts
      .get('main')
      .cluster.pool.query<{ name: string }>(
        'select rolname as name from pg_roles where starts_with(rolname, $1) order by 1',
        [prefix],
      )
  ).rows.map(({ name }) => name)

test('a login acts as the owner: it has the settings of the owner, who owns the objects that it creates', async () => {
  const own = await owner()
  const client = await signIn(await login())
  await client.query('create table blocks (height int primary key)')
  await client.query('insert into blocks values (1)')
  const { rows } = await client.query(
    `select current_user as "user", tableowner as owner, current_setting('statement_timeout') as timeout from pg_tables where tablename = 'blocks'`,
  )
  const direct = await signIn(own)
  const { rows: settings } = await direct.query(`select current_setting('statement_timeout') as timeout`)
  expect(rows).toEqual([{ user: own.user, owner: own.user, ...settings[0] }])
  await direct.query('alter table blocks add column hash text')
  expect((await client.query('select * from blocks')).rows).toEqual([{ height: 1, hash: null }])
})

test('after a login is closed, no session writes with it, and the next login continues with the same tables', async () => {
  const first = await login()
  const [idle, writing, inserting] = [await signIn(first), await signIn(first), await signIn(first)]
  await idle.query('create table blocks (height int primary key)')
  await writing.query('begin')
  await writing.query('insert into blocks values (1)')
  const insertError = inserting.query('insert into blocks select i from generate_series(2, 100000000) i').catch(String)
  // Simulates a program that signs in again whenever it has lost its connection.
  let isEnding = false
  const signInLoop = (async () => {
    while (!isEnding)
      await signIn(first).then(
        (client) => client.query('insert into blocks values (-1) on conflict do nothing').catch(() => undefined),
        () => undefined,
      )
  })()
  await close()
  const second = await signIn(await login())
  const { rows } = await second.query('select count(*)::int from blocks where height > 0')
  expect(rows).toEqual([{ count: 0 }])
  await second.query('truncate blocks')
  for (const client of [idle, writing]) await expect(client.query('select 1')).rejects.toThrow()
  expect(await insertError).toContain('terminating connection')
  await expect(signIn(first)).rejects.toThrow('is not permitted to log in')
  await logins.dropClosed(t.app, squidId)
  isEnding = true
  await signInLoop
  expect((await second.query('select count(*)::int from blocks')).rows).toEqual([{ count: 0 }])
  await expect(signIn(first)).rejects.toThrow()
})

test('a session that stops acting as the owner has no rights, and its objects are kept', async () => {
  const client = await signIn(await login())
  await client.query('create table blocks (height int)')
  await client.query('reset role; set role none')
  await expect(client.query('select * from blocks')).rejects.toThrow('permission denied')
  const { rows } = await client.query(`select lo_from_bytea(0, 'kept') as id`)
  await close()
  await logins.dropClosed(t.app, squidId)
  const direct = await signIn(await owner())
  expect((await direct.query(`select convert_from(lo_get($1), 'utf8') as text`, [rows[0].id])).rows).toEqual([
    { text: 'kept' },
  ])
})

test('closing a login does not close the other logins, and a closed login is never opened again', async () => {
  const [one, two] = [await login(user('one')), await login(user('two'))]
  await close('one')
  await logins.open(t.app, squidId, user().workload)
  await logins.reconcile(t.app, t.app.databaseHosts.get('main'))
  await expect(signIn(one)).rejects.toThrow()
  await signIn(two)
  const names = await logins.roleChecks(t.app, squidId)
  expect([one, two].map(({ user: name }) => [names.isLogin(name), names.isOpen(name)])).toEqual([
    [true, false],
    [true, true],
  ])
  expect(names.isLogin((await owner()).user)).toBe(false)
  expect(await logins.has(t.app, squidId, user('one'))).toBe(true)
  await logins.dropClosed(t.app, squidId)
  expect(await logins.has(t.app, squidId, user('one'))).toBe(false)
})

test('after a restore of the Postgres, missing logins are created, and logins without a row are dropped', async () => {
  const [kept, stale] = [await login(user('kept')), await login(user('stale'))]
  await t.app.databaseHosts
    .get('main')
    .cluster.pool.query(`revoke connect on database ${kept.database} from ${kept.user}`)
  await t.app.databaseHosts.get('main').cluster.pool.query(`drop role ${kept.user}`)
  await t.app.database.pool.query(`delete from squid_logins where container = 'stale' and squid_id = $1`, [squidId])
  await logins.reconcile(t.app, t.app.databaseHosts.get('main'))
  await signIn(kept)
  await expect(signIn(stale)).rejects.toThrow()
  expect(await rolesOf(`${(await owner()).user}_l`)).toEqual([kept.user])
})

test('Shoal detects that its role may not create logins', async () => {
  expect(await mayCreateLogins(t.app.databaseHosts.get('main').cluster)).toBe(true)
  const limited = new Pool({ connectionString: (await owner()).url })
  // The database may be dropped while the connection is still being closed.
  limited.on('error', () => {})
  expect(await mayCreateLogins({ ...t.app.databaseHosts.get('main').cluster, pool: limited })).toBe(false)
  await limited.end()
})

test('opening logins sets connection limits only if a login is new, or was created without a limit', async () => {
  const { user: name } = await login()
  const limitOf = async () => {
    const text = 'select rolconnlimit as "limit" from pg_roles where rolname = $1'
    return (await t.app.databaseHosts.get('main').cluster.pool.query<{ limit: number }>(text, [name])).rows[0]?.limit
  }
  expect(await limitOf()).toBeGreaterThan(0)
  const { pool } = t.app.databaseHosts.get('main').cluster
  await pool.query(`alter role ${name} connection limit 1`)
  await logins.open(t.app, squidId, user().workload)
  expect(await limitOf()).toBe(1)
  // Simulates a worker that ended before it had set the limit.
  await pool.query(`alter role ${name} connection limit 0`)
  await logins.open(t.app, squidId, user().workload)
  expect(await limitOf()).toBeGreaterThan(1)
})

test('erasing the database drops its logins', async () => {
  const { user: name } = await login()
  const own = await owner()
  await eraseDatabase(t.app, squidId)
  expect(await rolesOf(`${own.user}_l`)).toEqual([])
  expect(await logins.has(t.app, squidId, user())).toBe(false)
  expect(name).toMatch(/_l\d+$/)
})

test('a login of a full database can only read and free space, until the database has space again', async () => {
  const connection = await login()
  const client = await signIn(connection)
  await client.query(`create table filler as select repeat(md5(i::text), 20) as text from generate_series(1, 5000) i`)
  await t.app.database.pool.query('update squid_databases set total_bytes = 1000 where squid_id = $1', [squidId])
  await observeDatabases(t.app)
  const full = await signIn(connection)
  await expect(full.query(`insert into filler values ('more')`)).rejects.toThrow('permission denied')
  await full.query('truncate filler')
  await t.app.database.pool.query('update squid_databases set total_bytes = 1e12 where squid_id = $1', [squidId])
  await observeDatabases(t.app)
  const writing = await signIn(connection)
  await writing.query(`insert into filler values ('more')`)
  await close()
  await expect(signIn(connection)).rejects.toThrow()
})

test('the connections of a version are divided between its owner and the logins', () => {
  const version = {
    squidId: 1,
    server: 'main',
    role: 'a',
    readRole: 'a_ro',
    minConnections: 15,
    maxConnections: 45,
    maxExternalConnections: 0,
    isHibernated: false,
  }
  const limits = (owner: number) => new Map([['a', owner]])
  expect([...shareWithLogins(limits(15), [version], new Map([[1, [7]]]))]).toEqual([
    ['a', 13],
    ['a_l7', 2],
  ])
  expect([...shareWithLogins(limits(45), [version], new Map([[1, [7, 8]]]))]).toEqual([
    ['a', 27],
    ['a_l7', 9],
    ['a_l8', 9],
  ])
  expect([...shareWithLogins(limits(45), [version], new Map())]).toEqual([['a', 45]])
})
