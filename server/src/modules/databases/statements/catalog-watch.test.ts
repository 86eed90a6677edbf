import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { mebibytes } from '../../../bytes.ts'
import { singleHost } from '../../../db/database-hosts.ts'
import { startTestApp, type TestApp } from '../../../testing/index.ts'
import { parseManifest } from '../../manifest/manifest.ts'
import { parsePlan } from '../../manifest/plan.ts'
import { insertSquid } from '../../versions/store.ts'
import { limitConnections } from '../connections.ts'
import { ownerConnection, syncDatabase, type SquidConnection } from '../database.ts'
import { startSecondServer, type SecondServer } from '../testing/second-server.ts'
import { createCatalogWatch } from './catalog-watch.ts'
import { catalogBytes } from './catalogs-store.ts'

type Tenant = SquidConnection & { squidId: number }

let t: TestApp
let server: SecondServer
let squidCount = 0
const clients: Client[] = []
beforeAll(async () => {
  // A separate server, since tests fill its catalogs.
  ;[t, server] = await Promise.all([startTestApp(), startSecondServer(120)])
  t.app.databaseHosts = singleHost(server.cluster)
})
afterEach(async () => void (await Promise.allSettled(clients.splice(0).map((client) => client.end()))))
afterAll(async () => {
  await server?.close()
  await t?.close()
})

const plan = parsePlan(parseManifest('deploy: { addons: { postgres: {} }, processor: { cmd: [x] } }'))

let tenant: Tenant
let other: Tenant
beforeEach(async () => {
  ;[tenant, other] = [await addTenant(), await addTenant()]
})

async function addTenant(): Promise<Tenant> {
  const { id: orgId } = await t.make.org()
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
  const neighbour = await open(other)
  const client = await open(tenant)
  await client.query(statement.replace('DATABASE', tenant.database).replace('TEXT', text))
  expect(await catalogBytes(server.cluster)).toBeGreaterThan(maxBytes)
  await createCatalogWatch(t.app, { maxBytes })()
  expect(await catalogBytes(server.cluster)).toBeLessThan(maxBytes / 2)
  expect(await settingsOf(tenant)).toEqual(before)
  expect([await isOpen(client), await isOpen(neighbour)]).toEqual([false, true])
  expect(await noticesOf(tenant)).toEqual([expect.stringMatching(/^Shoal deleted settings and comments/)])
  expect(await noticesOf(other)).toEqual([])
  await limitConnections(t.app)
  await open(tenant)
})

test('a tenant that writes to these catalogs in a transaction that it does not end is stopped, too', async () => {
  const client = await open(tenant)
  await client.query('begin')
  await client.query(`alter role current_user set search_path = ${text}`)
  await createCatalogWatch(t.app, { maxBytes })()
  expect(await isOpen(client)).toBe(false)
  await createCatalogWatch(t.app, { maxBytes })()
  expect(await catalogBytes(server.cluster)).toBeLessThan(maxBytes / 2)
})
