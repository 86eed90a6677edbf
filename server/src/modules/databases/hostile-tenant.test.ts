import { gunzipSync } from 'node:zlib'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import { parseManifest } from '../manifest/manifest.ts'
import { parsePlan } from '../manifest/plan.ts'
import { insertSquid } from '../versions/store.ts'
import {
  dropDatabase,
  eraseDatabase,
  ownerConnection,
  readerConnection,
  syncDatabase,
  type SquidConnection,
} from './database.ts'
import { observeDatabases } from './measuring/observe-databases.ts'

type Tenant = SquidConnection & { squidId: number; reference: string }

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
  const name = `squid-${++squidCount}`
  const { id } = await insertSquid(t.app.db, { orgId: org.id, name, slot: 'v1' })
  await sync(id)
  const connection = await ownerConnection(t.app, id)
  if (!connection) throw new Error('no database')
  return { ...connection, squidId: id, reference: `${name}@v1` }
}

let tenant: Tenant
beforeEach(async () => {
  tenant = await addTenant()
})

async function open(url: string): Promise<Client> {
  // Short timeouts that a tenant has set for its database must not end the statements of the tests.
  const options = '-c statement_timeout=0 -c lock_timeout=0 -c transaction_timeout=0'
  const client = new Client({ connectionString: url, options })
  client.on('error', () => {})
  await client.connect()
  clients.push(client)
  return client
}

async function asTenant(statements: string, { url }: Tenant = tenant): Promise<void> {
  const client = await open(url)
  await client.query(statements)
  await client.end()
}

const cluster = async (text: string, values: unknown[] = []) =>
  (await t.app.databaseHosts.get('main').cluster.pool.query<Record<string, unknown>>(text, values)).rows

const isSuperuser = async () =>
  (await cluster('select rolsuper as yes from pg_roles where rolname = $1', [tenant.user]))[0]?.['yes']

/** Measures the database with a storage limit below its current size, or far above it. */
async function observeWhen(state: 'full' | 'free'): Promise<void> {
  const used = 'select pg_database_size(database) from squid_databases where squid_id = $1'
  const bytes = state === 'full' ? `(${used}) / 2` : `(${used}) * 10`
  await t.app.database.pool.query(`update squid_databases set total_bytes = ${bytes} where squid_id = $1`, [
    tenant.squidId,
  ])
  await observeDatabases(t.app)
}

const startExport = () =>
  t.http.inject({
    url: `/api/v1/orgs/${org.code}/squids/${encodeURIComponent(tenant.reference)}/database/export`,
    headers: { authorization: `Bearer ${org.admin.token}` },
  })

const expectFull = async () =>
  await expect(asTenant('begin read write; insert into public.filler values (1); commit')).rejects.toThrow(
    /permission denied|not permitted to log in/,
  )

test('functions and operators of a tenant are never called with the rights of Shoal', async () => {
  // Each function and operator matches the types in Shoal's statements better than the function or operator of Postgres.
  await asTenant(`
    create table filler (n int); insert into filler values (1);
    create function trap() returns boolean language plpgsql as $$ begin
      execute format('alter role %I superuser', '${tenant.user}'); return true;
      exception when others then return true; end $$;
    create function hashtextextended(text, integer) returns bigint language sql as $$ select public.trap()::int::bigint $$;
    create function differs(name, name) returns boolean language sql as $$ select public.trap() $$;
    create operator !~ (leftarg = name, rightarg = name, function = differs);
    create operator !~~ (leftarg = name, rightarg = name, function = differs);
    create operator ~ (leftarg = name, rightarg = name, function = differs);
    create function equals(oid, regclass) returns boolean language sql as $$ select public.trap() $$;
    create operator = (leftarg = oid, rightarg = regclass, function = equals);
    create function format(text, name, name) returns text language sql as $$ select public.trap()::text $$;
    create function starts_with(name, text) returns boolean language sql as $$ select public.trap() $$;
  `)
  const exported = await startExport()
  expect(exported.statusCode).toBe(200)
  expect(gunzipSync(exported.rawPayload).toString()).toContain('create table public.filler')
  expect(await isSuperuser()).toBe(false)
  await observeWhen('full')
  expect(await isSuperuser()).toBe(false)
  await expectFull()
  await observeWhen('free')
  await sync(tenant.squidId)
  expect(await isSuperuser()).toBe(false)
  await asTenant('insert into filler values (2)')
  await eraseDatabase(t.app, tenant.squidId)
})

test('a policy that an export applies cannot call a function with the rights of Shoal', async () => {
  const bystander = await open(t.app.databaseHosts.get('main').cluster.url)
  const { rows } = await bystander.query<{ pid: number }>('select pg_backend_pid() as pid')
  await asTenant(`
    create table guarded (n int); insert into guarded values (1);
    create function escape() returns boolean language plpgsql as $$ begin
      perform set_config('role', 'none', false);
      perform pg_terminate_backend(${rows[0]?.pid});
      return true;
      exception when others then return true; end $$;
    create policy escape on guarded using (escape());
    alter table guarded enable row level security; alter table guarded force row level security;
  `)
  await startExport().catch(() => undefined)
  expect((await bystander.query('select 1 as one')).rows).toEqual([{ one: 1 }])
})

test.each([
  ['role', (name: string) => name],
  ['default_transaction_read_only', () => 'on'],
  ['search_path', () => 'nowhere'],
  ['statement_timeout', () => '1ms'],
  ['lock_timeout', () => '1ms'],
  ['transaction_timeout', () => '1ms'],
  ['idle_in_transaction_session_timeout', () => '1ms'],
  ['session_authorization', (name: string) => name],
])('the setting %s of a database does not prevent Shoal from limiting its size', async (setting, value) => {
  await asTenant('create table filler as select generate_series(1, 1000) as n')
  await asTenant(`alter database ${tenant.database} set ${setting} = '${value(tenant.user)}'`).catch((error: unknown) =>
    // Postgres may refuse this setting.
    expect(String(error)).toMatch(/cannot be|permission denied|unrecognized/),
  )
  await observeWhen('full')
  await expectFull()
  await observeWhen('free')
  await asTenant('begin read write; insert into public.filler values (1); commit')
  const exported = await startExport()
  expect(exported.statusCode).toBe(200)
  expect(gunzipSync(exported.rawPayload).toString()).toContain('create table public.filler')
})

test('an open transaction of a tenant does not prevent Shoal from limiting the size of its database, or of others', async () => {
  const other = await addTenant()
  await asTenant('create table filler (n int)')
  const client = await open(tenant.url)
  await client.query('begin; grant usage on schema public to public; lock table filler')
  await observeWhen('full')
  await expectFull()
  await t.app.database.pool.query('update squid_databases set total_bytes = 1 where squid_id = $1', [other.squidId])
  const holder = await open(tenant.url)
  await holder.query('begin; select * from filler')
  await observeDatabases(t.app)
  await expect(asTenant('create table filler (n int)', other)).rejects.toThrow('permission denied')
  await observeWhen('free')
  await asTenant('insert into filler values (1)')
  await dropDatabase(t.app, other.squidId)
})

test('a version can log in again when its database has space, even if Shoal was interrupted while it restricted the version', async () => {
  await cluster(`alter role ${tenant.user} nologin`)
  await expect(asTenant('select 1')).rejects.toThrow('not permitted to log in')
  await observeWhen('free')
  await asTenant('select 1')
})

test('a version whose programs changed the passwords of its roles can log in again after the next deployment', async () => {
  const reader = await readerConnection(t.app, tenant.squidId)
  if (!reader) throw new Error('no database')
  for (const { url } of [tenant, reader]) {
    await (await open(url)).query(`alter role current_user password 'changed'`)
    await expect(open(url)).rejects.toThrow('password authentication failed')
  }
  await sync(tenant.squidId)
  for (const { url } of [tenant, reader]) await open(url)
})

test('a tenant cannot prevent the deletion of its own database or of the roles of another tenant', async () => {
  const victim = await addTenant()
  await asTenant(`create table shared (n int); grant select on shared to ${victim.user}, ${victim.user}_ro;
    alter default privileges grant select on tables to ${victim.user};
    grant temporary on database ${tenant.database} to ${victim.user}`)
  await eraseDatabase(t.app, victim.squidId)
  await sync(victim.squidId)
  await asTenant(`grant select on shared to ${victim.user}`)
  await dropDatabase(t.app, victim.squidId)
  await asTenant(`alter database ${tenant.database} is_template true`)
  await dropDatabase(t.app, tenant.squidId)
  for (const { user } of [victim, tenant])
    expect(await cluster(`select 1 from pg_roles where rolname = any($1)`, [[user, `${user}_ro`]])).toEqual([])
})

test('a privilege that another tenant grants does not prevent Shoal from lifting the restriction of a full database', async () => {
  const other = await addTenant()
  await asTenant('create table filler (n int)')
  await observeWhen('full')
  await expectFull()
  await asTenant(`create table shared (n int); grant select on shared to ${tenant.user}`, other)
  await observeWhen('free')
  expect(await cluster('select 1 from pg_roles where rolname = $1', [`${tenant.user}_own`])).toEqual([])
  await asTenant('insert into filler values (1)')
})
