import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { singleHost } from '../../../db/database-hosts.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { parseManifest } from '../../manifest/manifest.ts'
import { parsePlan } from '../../manifest/plan.ts'
import { insertSquid } from '../../versions/store.ts'
import { limitConnections } from '../connections.ts'
import { ownerConnection, syncDatabase, type SquidConnection } from '../database.ts'
import { startSecondServer, type SecondServer } from '../testing/second-server.ts'
import { createLockWatch, excessOf, type LockWatch } from './lock-watch.ts'

type Tenant = SquidConnection & { squidId: number }

let t: TestApp
let server: SecondServer
let org: TestOrg
let watch: LockWatch
let squidCount = 0
const clients: Client[] = []
beforeAll(async () => {
  // A separate server, since tests fill its lock table.
  ;[t, server] = await Promise.all([startTestApp(), startSecondServer(120)])
  t.app.databaseHosts = singleHost(server.cluster)
})
beforeEach(async () => {
  org = await t.make.org()
  watch = createLockWatch(t.app)
})
afterEach(async () => {
  await watch.close()
  await Promise.allSettled(clients.splice(0).map((client) => client.end()))
})
afterAll(async () => {
  await server?.close()
  await t?.close()
})

const plan = parsePlan(parseManifest('deploy: { addons: { postgres: {} }, processor: { cmd: [x] } }'))

async function addTenant({ id: orgId } = org): Promise<Tenant> {
  const { id } = await insertSquid(t.app.db, { orgId, name: `squid-${++squidCount}`, slot: 'v1' })
  await syncDatabase(t.app, { squidId: id, plan, isPlayground: false })
  const connection = await ownerConnection(t.app, id)
  if (!connection) throw new Error('no database')
  return { ...connection, squidId: id }
}

async function open({ url }: Tenant): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  clients.push(client)
  return client
}

/** Opens a session that holds `count` locks. */
async function hold(tenant: Tenant, count: number): Promise<Client> {
  const client = await open(tenant)
  const first = clients.length * 1_000_000
  await client.query(`select pg_advisory_lock(n) from generate_series(${first + 1}, ${first + count}) n`)
  return client
}

const isOpen = (client: Client) =>
  client.query('select 1').then(
    () => true,
    () => false,
  )

const noticesOf = async ({ squidId }: Tenant): Promise<string[]> => {
  const { rows } = await t.app.database.pool.query<{ message: string }>(
    'select message from squid_notices where squid_id = $1 order by id',
    [squidId],
  )
  return rows.map(({ message }) => message)
}

/** A session with this many locks exceeds the limit of an organization: a quarter of 128 locks for each of 120 connections. */
const tooMany = 4_000

test('the sessions with the most locks are in excess, of an organization with more than its share, or of all', () => {
  const session = (orgId: number, locks: number) => ({ orgId, locks })
  expect(excessOf([session(1, 200), session(2, 250)], 1_000)).toEqual([])
  expect(excessOf([session(1, 120), session(1, 131), session(2, 250)], 1_000)).toEqual([session(1, 131)])
  const all = Array.from({ length: 8 }, (_, index) => session(index, 100 + index))
  expect(excessOf(all, 1_000)).toEqual([session(7, 107)])
})

test('organizations with many small sessions do not make Shoal end the largest session of another', () => {
  const session = (orgId: number, locks: number) => ({ orgId, locks })
  const hostile = [1, 2, 3].flatMap((orgId) => Array.from({ length: 24 }, () => session(orgId, 10)))
  expect(excessOf([session(4, 60), ...hostile], 1_000)).toEqual([session(1, 10), session(2, 10), session(3, 10)])
})

test('the others can use the Postgres again after a tenant has filled its lock table, and the log of the tenant shows why', async () => {
  const [tenant, other] = [await addTenant(), await addTenant(await t.make.org())]
  const neighbour = await open(other)
  await watch.round()
  const hostile = await open(tenant)
  await expect(hostile.query('select pg_advisory_lock(n) from generate_series(1, 1000000) n')).rejects.toThrow(
    'out of shared memory',
  )
  // Each of these locks needs a new entry.
  const statement = 'create table if not exists made (n int); select pg_advisory_lock(n) from generate_series(1, 50) n'
  await expect(neighbour.query(statement)).rejects.toThrow('out of shared memory')
  await watch.round()
  expect(await isOpen(hostile)).toBe(false)
  await neighbour.query(statement)
  expect(await noticesOf(tenant)).toEqual([
    expect.stringMatching(
      /^Shoal ended a database session that held \d+ locks, and refuses new connections for up to 30 s/,
    ),
  ])
  expect(await noticesOf(other)).toEqual([])
  await expect(open(tenant)).rejects.toThrow('too many connections for role')
  await limitConnections(t.app)
  await open(tenant)
})

test('sessions of several versions of an organization may not hold more locks together than one may', async () => {
  const [one, two] = [await addTenant(), await addTenant()]
  const other = await addTenant(await t.make.org())
  const [small, large] = [await hold(one, tooMany / 2), await hold(two, tooMany / 2 + 10)]
  const ofOther = await hold(other, tooMany / 2)
  await watch.round()
  expect(await Promise.all([small, large, ofOther].map(isOpen))).toEqual([true, false, true])
  expect(await noticesOf(one)).toEqual([])
  expect(await noticesOf(two)).toHaveLength(1)
})

test('the watch does not prevent the removal of old rows, and sees sessions that are opened later', async () => {
  await watch.round()
  const transactions = `select backend_xmin as xmin from pg_stat_activity
    where state = 'idle in transaction' and application_name = 'shoal'`
  // The connection of an earlier watch may not have ended yet.
  await expect.poll(async () => (await server.cluster.pool.query(transactions)).rows).toEqual([{ xmin: null }])
  const client = await hold(await addTenant(), tooMany)
  await watch.round()
  expect(await isOpen(client)).toBe(false)
})
