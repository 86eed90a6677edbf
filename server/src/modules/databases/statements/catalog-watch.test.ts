import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { mebibytes } from '../../../bytes.ts'
import { singleHost } from '../../../db/database-hosts.ts'
import { startTestApp, type TestApp } from '../../../testing/index.ts'
import { limitConnections } from '../connections.ts'
import { startSecondServer, type SecondServer } from '../testing/second-server.ts'
import { createTenants, isOpen, type Tenant, type Tenants } from '../testing/tenants.ts'
import { createCatalogWatch } from './catalog-watch.ts'
import { catalogBytes } from './catalogs-store.ts'

let t: TestApp
let server: SecondServer
let tenants: Tenants
beforeAll(async () => {
  // A separate server, since tests fill its catalogs.
  ;[t, server] = await Promise.all([startTestApp(), startSecondServer(120)])
  t.app.databaseHosts = singleHost(server.cluster)
  tenants = createTenants(t)
})
afterEach(() => tenants.endSessions())
afterAll(async () => {
  await server?.close()
  await t?.close()
})

let tenant: Tenant
let other: Tenant
beforeEach(async () => {
  ;[tenant, other] = [await tenants.add(), await tenants.add()]
})

const settingsOf = async ({ user }: Tenant): Promise<string[]> => {
  const { rows } = await server.cluster.pool.query<{ settings: string[] }>(
    'select rolconfig as settings from pg_roles where rolname = $1',
    [user],
  )
  return rows[0]?.settings ?? []
}

/** 6 MB that Postgres cannot compress. */
const text = `'${randomBytes(3_000_000).toString('hex')}'`
const maxBytes = mebibytes(4)

test.each([
  'alter role current_user set search_path = TEXT',
  'alter role current_user in database postgres set search_path = TEXT',
  'alter database DATABASE set search_path = TEXT',
  'comment on database DATABASE is TEXT',
])('a tenant cannot fill the catalogs that all databases share: %s', async (statement) => {
  const before = await settingsOf(tenant)
  const neighbour = await tenants.open(other)
  const client = await tenants.open(tenant)
  await client.query(statement.replace('DATABASE', tenant.database).replace('TEXT', text))
  expect(await catalogBytes(server.cluster)).toBeGreaterThan(maxBytes)
  await createCatalogWatch(t.app, { maxBytes })()
  expect(await catalogBytes(server.cluster)).toBeLessThan(maxBytes / 2)
  expect(await settingsOf(tenant)).toEqual(before)
  expect([await isOpen(client), await isOpen(neighbour)]).toEqual([false, true])
  expect(await tenants.noticesOf(tenant)).toEqual([expect.stringMatching(/^Shoal deleted settings and comments/)])
  expect(await tenants.noticesOf(other)).toEqual([])
  await limitConnections(t.app)
  await tenants.open(tenant)
})

test('a tenant that writes to these catalogs in a transaction that it does not end is stopped, too', async () => {
  const client = await tenants.open(tenant)
  await client.query('begin')
  await client.query(`alter role current_user set search_path = ${text}`)
  await createCatalogWatch(t.app, { maxBytes })()
  expect(await isOpen(client)).toBe(false)
  await createCatalogWatch(t.app, { maxBytes })()
  expect(await catalogBytes(server.cluster)).toBeLessThan(maxBytes / 2)
})
