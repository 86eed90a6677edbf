import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { parseManifest } from '../manifest/manifest.ts'
import { parsePlan } from '../manifest/plan.ts'
import { insertSquid } from '../versions/store.ts'
import { runUnblocked } from './blockers-store.ts'
import { limitConnectionsOf } from './connections.ts'
import { dropDatabase, ownerConnection, syncDatabase, type SquidConnection } from './database.ts'
import { logins } from './logins.ts'
import { observeDatabases } from './measuring/observe-databases.ts'
import { createMissingDatabases } from './reconcile-databases.ts'

type Tenant = SquidConnection & { squidId: number }

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

const plan = parsePlan(parseManifest('deploy: { addons: { postgres: {} }, processor: { cmd: [x] } }'))
const sync = (squidId: number) => syncDatabase(t.app, { squidId, plan, isPlayground: false })

async function addTenant(): Promise<Tenant> {
  const { id } = await insertSquid(t.app.db, { orgId: org.id, name: `squid-${++squidCount}`, slot: 'v1' })
  await sync(id)
  const connection = await ownerConnection(t.app, id)
  if (!connection) throw new Error('no database')
  return { ...connection, squidId: id }
}

let tenant: Tenant
beforeEach(async () => {
  tenant = await addTenant()
})

async function open(url = tenant.url): Promise<Client> {
  const client = new Client(url)
  client.on('error', () => {})
  await client.connect()
  clients.push(client)
  return client
}

const host = () => t.app.databaseHosts.get('main')
const limitsOf = async (...roles: string[]) => {
  const { rows } = await host().cluster.pool.query<{ limit: number }>(
    'select rolconnlimit as limit from pg_roles where rolname = any($1) order by rolname',
    [roles],
  )
  return rows.map(({ limit }) => limit)
}

/** Statements with which a tenant locks its role or its database until the end of its transaction. */
const locks = [
  `alter role current_user password 'changed'`,
  'alter role current_user set work_mem = 65',
  'alter database current connection limit 3',
]

test.each(locks)(
  'a tenant that keeps its role or database locked (%s) does not prevent its deployment or deletion',
  async (lock) => {
    const statement = `begin; ${lock.replace('database current', `database ${tenant.database}`)}`
    await (await open()).query(statement)
    await sync(tenant.squidId)
    await (await open()).query(statement)
    await dropDatabase(t.app, tenant.squidId)
    expect(await limitsOf(tenant.user, `${tenant.user}_ro`)).toEqual([])
  },
)

test('a tenant that keeps its role locked does not prevent the start of a worker, which limits temporary files', async () => {
  const { cluster } = host()
  await cluster.pool.query(`alter role ${tenant.user} reset temp_file_limit`)
  await (await open()).query(`begin; ${locks[1]}`)
  await createMissingDatabases(t.app)
  const { rows } = await cluster.pool.query('select rolconfig::text as config from pg_roles where rolname = $1', [
    tenant.user,
  ])
  expect(rows).toEqual([{ config: expect.stringContaining('temp_file_limit=') }])
})

test('a tenant that keeps its schema locked does not prevent its deployment', async () => {
  const client = await open()
  let isEnded = false
  client.on('end', () => (isEnded = true))
  await client.query('begin; grant usage on schema public to public')
  await sync(tenant.squidId)
  await expect.poll(() => isEnded).toBe(true)
})

test('a tenant that keeps its role locked does not prevent the limits of connections of others, nor its own', async () => {
  const other = await addTenant()
  const expected = await limitsOf(tenant.user, other.user)
  for (const { user } of [tenant, other]) await host().cluster.pool.query(`alter role ${user} connection limit 3`)
  await (await open()).query(`begin; ${locks[0]}`)
  await limitConnectionsOf(t.app, host())
  expect(await limitsOf(tenant.user, other.user)).toEqual(expected)
})

test('the limits of others are set even if Shoal may not end the session that keeps a role locked', async () => {
  const other = await addTenant()
  const expected = await limitsOf(other.user)
  for (const { user } of [tenant, other]) await host().cluster.pool.query(`alter role ${user} connection limit 3`)
  // A session of Shoal's role, which `limitConnectionsOf` does not end.
  const holder = await open(host().cluster.url)
  await holder.query(`begin; alter role ${tenant.user} connection limit 4`)
  await limitConnectionsOf(t.app, host())
  expect(await limitsOf(tenant.user, other.user)).toEqual([3, ...expected])
})

test('a tenant that keeps its role locked does not prevent Shoal from closing a login or restricting a full database', async () => {
  const login = await t.app.db.transaction((tx) =>
    logins.add(t.app, tx, tenant.squidId, { workload: 'w', container: 'c' }),
  )
  if (!login) throw new Error('no login')
  await logins.open(t.app, tenant.squidId, 'w')
  const session = await open(login.url)
  await session.query(`set role none; begin; alter role session_user password 'changed'`)
  await logins.close(t.app, tenant.squidId, () => true)
  await expect(session.query('select 1')).rejects.toThrow()
  await (await open()).query('create table filler (n int)')
  await (await open()).query(`begin; ${locks[0]}`)
  await t.app.database.pool.query('update squid_databases set total_bytes = 1 where squid_id = $1', [tenant.squidId])
  await observeDatabases(t.app)
  expect(await limitsOf(`${tenant.user}_own`)).toHaveLength(1)
})

test('a privilege that another tenant grants in an open transaction does not prevent the deletion of a role', async () => {
  const other = await addTenant()
  await (await open()).query(`create table shared (n int); begin; grant select on shared to ${other.user}`)
  await dropDatabase(t.app, other.squidId)
  expect(await limitsOf(other.user)).toEqual([])
})

test('a statement is repeated if a tenant changed the role while the statement waited', async () => {
  const client = await open()
  await client.query(`begin; alter role current_user password 'changed'`)
  const { cluster } = host()
  const altered = runUnblocked(cluster, `alter role ${tenant.user} connection limit 7`)
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter role ${tenant.user} %'`
  // The transaction may be ended before it commits; in both cases, the statement succeeds.
  await expect.poll(async () => (await cluster.pool.query(waiting)).rowCount, { interval: 5 }).toBeGreaterThan(0)
  await client.query('commit').catch(() => undefined)
  await altered
  expect(await limitsOf(tenant.user)).toEqual([7])
})
