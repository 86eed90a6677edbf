import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startTestApp, type TestApp, type TestOrg } from '../../../testing/index.ts'
import { setOrgStatus } from '../../orgs/index.ts'
import { dropDatabase, eraseDatabase, ownerConnection, syncDatabase } from '../database.ts'
import { observeDatabases } from './observe-databases.ts'
import type { SquidPlan } from '../../manifest/plan.ts'
import { makeVersion } from '../../versions/testing/make-version.ts'

const mebibyte = 2 ** 20

let t: TestApp
let org: TestOrg
let squidId: number
beforeAll(async () => void (t = await startTestApp()))
afterAll(async () => {
  await dropDatabase(t.app, squidId)
  await t.close()
})

const plan = (totalBytes: number): SquidPlan => ({
  slot: null,
  description: null,
  isDedicated: true,
  init: null,
  api: null,
  processors: [],
  processorProfile: 'small',
  postgres: {
    version: null,
    profile: 'small',
    storage: '',
    totalBytes,
    isAutoresizeRequested: false,
    config: {},
    maxExternalConnections: null,
  },
  rpc: [],
  hasura: null,
  hasNeon: false,
  build: { nodeVersion: '20', packageManager: 'auto', installCommand: null, buildCommand: null },
})

const setLimit = (totalBytes: number) => syncDatabase(t.app, { squidId, plan: plan(totalBytes), isPlayground: false })
const get = (as = org.admin) => t.as(as).squids.get({ params: { code: org.code, reference: 'test-squid@v1' } })
const postgres = async () => (await get()).addons.postgres

async function asOwner(statement: string): Promise<void> {
  const client = new Client((await ownerConnection(t.app, squidId))?.url)
  client.on('error', () => {})
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}

beforeEach(async () => {
  if (org) return
  org = await t.make.org()
  squidId = (await makeVersion(t.app, org)).id
})

test('the size of a database is measured and reported, with a warning when it is nearly full', async () => {
  await setLimit(1024 * mebibyte)
  expect((await postgres())?.disk).toEqual({ usageStatus: 'UNKNOWN', usedBytes: 0, totalBytes: 1024 * mebibyte })
  await asOwner(`create table filler as select repeat(md5(i::text), 20) as text from generate_series(1, 5000) i`)
  await observeDatabases(t.app)
  const disk = (await postgres())?.disk
  expect(disk).toMatchObject({ usageStatus: 'LOW', totalBytes: 1024 * mebibyte })
  expect(disk?.usedBytes).toBeGreaterThan(5 * mebibyte)
  const used = disk?.usedBytes ?? 0
  await setLimit(Math.round(used / 0.9))
  expect(await get()).toMatchObject({
    addons: { postgres: { disk: { usageStatus: 'WARNING' } } },
    alerts: [{ label: 'Low database space', severity: 'WARNING', reason: expect.stringContaining('9') }],
  })
})

/** Selects the owners and privileges of the objects in the database, and the limits and settings of its roles. */
const rightsQuery = `select jsonb_agg(x order by x) as rights from (
  select jsonb_build_array(relname, pg_get_userbyid(relowner), relacl::text) x from pg_class
    where relnamespace = 'public'::regnamespace
  union all select jsonb_build_array(nspname, pg_get_userbyid(nspowner), nspacl::text) from pg_namespace where nspname !~ '^pg_'
  union all select jsonb_build_array(datname, pg_get_userbyid(datdba), datacl::text) from pg_database where datname = current_database()
  union all select jsonb_build_array(rolname, rolconnlimit, rolcanlogin, rolconfig) from pg_roles
    where starts_with(rolname, current_database())) rights`

async function readRights(): Promise<unknown> {
  const client = new Client((await ownerConnection(t.app, squidId))?.url)
  await client.connect()
  try {
    return (await client.query(rightsQuery)).rows
  } finally {
    await client.end()
  }
}

/** Measures the database with a storage limit below its current size, or far above it. */
async function observeWhen(state: 'full' | 'free'): Promise<void> {
  const { rows } = await t.app.database.pool.query<{ used: number }>(
    'select pg_database_size(database) as used from squid_databases where squid_id = $1',
    [squidId],
  )
  const used = rows[0]?.used ?? 0
  await t.app.database.pool.query('update squid_databases set total_bytes = $2 where squid_id = $1', [
    squidId,
    state === 'full' ? Math.floor(used / 2) : used * 10,
  ])
  await observeDatabases(t.app)
}

test('a tenant cannot write to a full database, or lift the restriction, until there is space again', async () => {
  await asOwner(
    'create table kept (id int primary key, text text); insert into kept values (1); create index on kept (text)',
  )
  await asOwner('create view seen as select id from kept; create sequence counter')
  const before = await readRights()
  const openClient = new Client((await ownerConnection(t.app, squidId))?.url)
  const connectionError = new Promise<Error>((done) => openClient.on('error', done))
  await openClient.connect()
  await openClient.query('begin; insert into kept values (2)')
  await observeWhen('full')
  expect(String(await connectionError)).toContain('terminat')
  expect(await get()).toMatchObject({
    alerts: [{ severity: 'CRITICAL', reason: expect.stringContaining('read-only') }],
    addons: { postgres: { disk: { usageStatus: 'CRITICAL' } } },
  })
  for (const attack of [
    'insert into filler values (1)',
    `update kept set text = 'x'`,
    'set default_transaction_read_only = off; insert into filler values (1)',
    'alter role current_user reset all; insert into filler values (1)',
    'create table more as select 1 as n',
    'create temp table more as select 1 as n',
    'create schema more',
    'alter table kept add column more text',
    'alter table kept owner to current_user',
    'grant insert on kept to current_user; insert into kept values (9)',
    'create materialized view more as select 1 as n',
    `select lo_from_bytea(0, 'x')`,
    `select nextval('counter')`,
    'create function more() returns int language sql as $$ select 1 $$',
    `set role "${(await ownerConnection(t.app, squidId))?.user ?? ''}_own"`,
    'alter role current_user set temp_file_limit = -1',
  ])
    await expect(asOwner(attack), attack).rejects.toThrow(/permission denied|must be owner/)
  await asOwner('select * from seen; select last_value from counter; delete from kept where id = 1')
  await asOwner('vacuum full kept')
  await asOwner('truncate filler')

  await observeWhen('free')
  expect(await readRights()).toEqual(before)
  await asOwner(
    `insert into kept values (3); alter table kept add column more text; drop view seen; select nextval('counter')`,
  )
  await asOwner('drop table kept; drop sequence counter')
})

test('a full database with functions can only be read; if they run with the rights of its owner, or all roles may write to a table, the tenant cannot log in', async () => {
  await asOwner(`create table t (n int); insert into t values (1);
    create function grow() returns trigger language plpgsql as
      $$ begin insert into filler select repeat('x', 1000) from generate_series(1, 1000); return old; end $$;
    create trigger grow after delete on t for each row execute function grow()`)
  await observeWhen('full')
  await asOwner('select * from t')
  await expect(asOwner('delete from t')).rejects.toThrow('permission denied')
  await observeWhen('free')
  await asOwner('alter function grow() security definer')
  await observeWhen('full')
  await expect(asOwner('select 1')).rejects.toThrow('not permitted to log in')
  await observeWhen('free')
  await asOwner('drop table t; drop function grow(); grant insert on filler to public')
  await observeWhen('full')
  await expect(asOwner('insert into filler values (1)')).rejects.toThrow('not permitted to log in')
  await observeWhen('free')
  await asOwner('revoke insert on filler from public; insert into filler values (1)')
})

test('a full database becomes writable again after a deployment with more storage or a hard reset', async () => {
  await asOwner('vacuum full')
  await observeWhen('full')
  const used = (await postgres())?.disk.usedBytes ?? 0
  expect(await setLimit(Math.floor(used / 2))).toEqual([expect.stringContaining('is full')])
  await expect(asOwner('insert into filler values (1)')).rejects.toThrow('permission denied')
  expect(await setLimit(used * 2)).toEqual([])
  await asOwner('insert into filler values (1)')
  await observeWhen('full')
  await eraseDatabase(t.app, squidId)
  await setLimit(1024 * mebibyte)
  await asOwner(`create table filler as select 'x'::text as text from generate_series(1, 5000)`)
  await asOwner('insert into filler values (1)')
  await observeDatabases(t.app)
})

test('members who may see credentials get a read-only connection, unless the organization has the status DRAFT', async () => {
  const viewer = await get(await t.make.member(org, 'viewer'))
  expect(viewer.addons.postgres).toMatchObject({ connections: [], disk: { totalBytes: expect.any(Number) } })
  const developer = await t.make.member(org, 'developer')
  const [connection] = (await get(developer)).addons.postgres?.connections ?? []
  expect(connection?.params).toMatchObject({ user: expect.stringMatching(/_ro$/), port: expect.any(Number) })
  const client = new Client(connection?.uri)
  await client.connect()
  try {
    expect((await client.query('select count(*)::int as count from filler')).rows).toEqual([{ count: 5001 }])
    await expect(client.query('delete from filler')).rejects.toThrow('permission denied')
  } finally {
    await client.end()
  }
  const [listed] = await t.as(developer).squids.list({ params: { code: org.code } })
  expect(listed?.addons.postgres?.connections).toEqual([])
  await setOrgStatus(t.app, org.id, 'DRAFT')
  expect((await postgres())?.connections).toEqual([])
})
