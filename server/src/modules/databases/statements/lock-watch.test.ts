import type { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { singleHost } from '../../../db/database-hosts.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { limitConnections } from '../connections.ts'
import { startSecondServer, type SecondServer } from '../testing/second-server.ts'
import { createTenants, isOpen, type Tenant, type Tenants } from '../testing/tenants.ts'
import { createLockWatch, excessOf, type LockWatch } from './lock-watch.ts'

let t: TestApp
let server: SecondServer
let org: TestOrg
let watch: LockWatch
let tenants: Tenants
beforeAll(async () => {
  // A separate server, since tests fill its lock table.
  ;[t, server] = await Promise.all([startTestApp(), startSecondServer(120)])
  t.app.databaseHosts = singleHost(server.cluster)
  tenants = createTenants(t)
})
beforeEach(async () => {
  org = await t.make.org()
  watch = createLockWatch(t.app)
})
afterEach(async () => {
  await watch.close()
  await tenants.endSessions()
})
afterAll(async () => {
  await server?.close()
  await t?.close()
})

let heldCount = 0
/** Opens a session that holds `count` locks. */
async function hold(tenant: Tenant, count: number): Promise<Client> {
  const client = await tenants.open(tenant)
  const first = ++heldCount * 1_000_000
  await client.query(`select pg_advisory_lock(n) from generate_series(${first + 1}, ${first + count}) n`)
  return client
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
  const [tenant, other] = [await tenants.add(org.id), await tenants.add()]
  const neighbour = await tenants.open(other)
  await watch.round()
  const hostile = await tenants.open(tenant)
  await expect(hostile.query('select pg_advisory_lock(n) from generate_series(1, 1000000) n')).rejects.toThrow(
    'out of shared memory',
  )
  // Each of these locks needs a new entry.
  const statement = 'create table if not exists made (n int); select pg_advisory_lock(n) from generate_series(1, 50) n'
  await expect(neighbour.query(statement)).rejects.toThrow('out of shared memory')
  await watch.round()
  expect(await isOpen(hostile)).toBe(false)
  await neighbour.query(statement)
  expect(await tenants.noticesOf(tenant)).toEqual([
    expect.stringMatching(
      /^Shoal ended a database session that held \d+ locks, and refuses new connections for up to 30 s/,
    ),
  ])
  expect(await tenants.noticesOf(other)).toEqual([])
  await expect(tenants.open(tenant)).rejects.toThrow('too many connections for role')
  await limitConnections(t.app)
  await tenants.open(tenant)
})

test('sessions of several versions of an organization may not hold more locks together than one may', async () => {
  const [one, two] = [await tenants.add(org.id), await tenants.add(org.id)]
  const other = await tenants.add()
  const [small, large] = [await hold(one, tooMany / 2), await hold(two, tooMany / 2 + 10)]
  const ofOther = await hold(other, tooMany / 2)
  await watch.round()
  expect(await Promise.all([small, large, ofOther].map(isOpen))).toEqual([true, false, true])
  expect(await tenants.noticesOf(one)).toEqual([])
  expect(await tenants.noticesOf(two)).toHaveLength(1)
})

test('the watch does not prevent the removal of old rows, and sees sessions that are opened later', async () => {
  await watch.round()
  const transactions = `select backend_xmin as xmin from pg_stat_activity
    where state = 'idle in transaction' and application_name = 'shoal'`
  // The connection of an earlier watch may not have ended yet.
  await expect.poll(async () => (await server.cluster.pool.query(transactions)).rows).toEqual([{ xmin: null }])
  const client = await hold(await tenants.add(org.id), tooMany)
  await watch.round()
  expect(await isOpen(client)).toBe(false)
})
