import { afterAll, beforeAll, expect, test } from 'vitest'
import { connect } from '../../db/database.ts'
import { singleHost } from '../../db/database-hosts.ts'
import { startTestApp, type TestApp, type TestOrg } from '../../testing/index.ts'
import {
  restrictShoalDatabases,
  dropOrphanedDatabases,
  dropDatabase,
  eraseDatabase,
  ownerConnection,
  readerConnection,
  syncDatabase,
  type SquidConnection,
} from './database.ts'
import { parseManifest } from '../manifest/manifest.ts'
import { parsePlan, type SquidPlan } from '../manifest/plan.ts'
import { shareConnections } from './connections.ts'
import { namesWithPrefix } from './database-store.ts'
import { createMissingDatabases } from './reconcile-databases.ts'
import { deleteSquid, insertSquid } from '../versions/store.ts'

let t: TestApp
let org: TestOrg
let squidCount = 0
beforeAll(async () => {
  t = await startTestApp()
  org = await t.make.org()
})
afterAll(() => t?.close())

const planWith = (postgres: object = {}, scale: object = {}): SquidPlan =>
  parsePlan(
    parseManifest(
      JSON.stringify({
        deploy: { addons: { postgres }, processor: { cmd: ['x'] } },
        scale: { dedicated: false, ...scale },
      }),
    ),
  )

const newSquid = async () =>
  (await insertSquid(t.app.db, { orgId: org.id, name: `squid-${++squidCount}`, slot: 'v1' })).id

const sync = (squidId: number, plan = planWith(), isPlayground = false) =>
  syncDatabase(t.app, { squidId, plan, isPlayground })

async function query(to: Pick<SquidConnection, 'url'> | null, text: string): Promise<Record<string, unknown>[]> {
  const database = connect(to?.url ?? '', { max: 1 })
  try {
    return (await database.pool.query<Record<string, unknown>>(text)).rows
  } finally {
    await database.close()
  }
}

const cluster = async (text: string) =>
  (await t.app.databaseHosts.get('main').cluster.pool.query<Record<string, unknown>>(text)).rows

/** Restricts a query to this installation, because other tests use the same Postgres. */
const ofInstallation = (table: string, name: string) =>
  `${table} join installation on starts_with(${name}, prefix || '_')`

test('the owner has all rights in the database, and the reader can select from existing and future tables', async () => {
  const id = await newSquid()
  expect(await sync(id)).toEqual([])
  const owner = await ownerConnection(t.app, id)
  const reader = await readerConnection(t.app, id)
  await query(owner, 'create table a (n int); insert into a values (1); create schema s; create table s.b (n int)')
  expect(await query(reader, 'select n from a')).toEqual([{ n: 1 }])
  expect(await query(reader, 'select n from s.b')).toEqual([])
  for (const text of ['insert into a values (2)', 'create table c (n int)', 'drop table a', 'create schema x'])
    await expect(query(reader, text), text).rejects.toThrow(/permission denied|must be owner/)
})

test('a version can connect only to its own database, with limited rights', async () => {
  const [own, foreign] = [await newSquid(), await newSquid()]
  await sync(own)
  await sync(foreign)
  await restrictShoalDatabases(t.app, t.app.databaseHosts.get('main'))
  for (const connection of [await ownerConnection(t.app, own), await readerConnection(t.app, own)])
    for (const database of [
      (await ownerConnection(t.app, foreign))?.database,
      'postgres',
      'template1',
      new URL(t.app.database.url).pathname.slice(1),
    ]) {
      const url = new URL(connection?.url ?? '')
      url.pathname = `/${database}`
      await expect(query({ url: url.href }, 'select 1'), database).rejects.toThrow('permission denied for database')
    }
  const owner = await ownerConnection(t.app, own)
  await expect(query(owner, "copy (select 1) to program 'id'")).rejects.toThrow('permission denied')
  await expect(query(owner, `alter role ${owner?.user} superuser`)).rejects.toThrow('permission denied')
  await expect(query(owner, `create role other`)).rejects.toThrow('permission denied')
  await expect(query(owner, `create database other`)).rejects.toThrow('permission denied')
})

test('a repeated sync keeps the data, the password and the address of a database', async () => {
  const id = await newSquid()
  await sync(id)
  const before = await ownerConnection(t.app, id)
  await query(before, 'create table kept as select 1 as n')
  await sync(id)
  expect(await ownerConnection(t.app, id)).toEqual(before)
  expect(await query(before, 'select n from kept')).toEqual([{ n: 1 }])
})

test('settings of the manifest apply to new connections, and are reset when the manifest no longer contains them', async () => {
  const id = await newSquid()
  const show = async (key: string) => (await query(await ownerConnection(t.app, id), `show ${key}`))[0]?.[key]
  await sync(
    id,
    planWith({ config: { statement_timeout: 30, idle_session_timeout: '2h', log_min_duration_statement: '1s' } }),
  )
  expect(await show('statement_timeout')).toBe('30ms')
  expect(await show('idle_session_timeout')).toBe('2h')
  expect(await show('log_min_duration_statement')).toBe('1s')
  await sync(id)
  expect(await show('statement_timeout')).toBe('1min')
  expect(await show('idle_session_timeout')).toBe('0')
  await expect(sync(id, planWith({ config: { statement_timeout: '30d' } }))).rejects.toThrow('longer than Postgres')
})

test('the temporary files of the owner and of the reader are limited, even of databases that an earlier release created', async () => {
  const id = await newSquid()
  const limitsOf = async () => {
    const connections = [await ownerConnection(t.app, id), await readerConnection(t.app, id)]
    return await Promise.all(connections.map(async (to) => (await query(to, 'show temp_file_limit'))[0]))
  }
  await sync(id, planWith({ external_access: { max_connections: 40 } }, { addons: { postgres: { storage: '1G' } } }))
  const limits = await limitsOf()
  expect(limits[0]?.['temp_file_limit']).toMatch(/^\d+(kB|MB)$/)
  expect(limits[1]).toEqual({ temp_file_limit: '64MB' })
  const reader = await readerConnection(t.app, id)
  await expect(query(reader, 'set temp_file_limit = -1')).rejects.toThrow('permission denied')
  await query(reader, 'alter role current_user reset all')
  expect(await limitsOf()).toEqual(limits)
  const sort = `select count(*) from (select repeat(md5(g::text), 30) from generate_series(1, 200000) g order by 1 offset 0) sorted`
  await expect(query(reader, sort)).rejects.toThrow('temporary file size exceeds')
  for (const role of [(await ownerConnection(t.app, id))?.user, reader?.user])
    await cluster(`alter role ${role} reset all`)
  expect(await limitsOf()).toEqual([{ temp_file_limit: '-1' }, { temp_file_limit: '-1' }])
  await createMissingDatabases(t.app)
  expect(await limitsOf()).toEqual(limits)
  // Its connections reduce those of other versions.
  await dropDatabase(t.app, id)
})

test('external access depends on the manifest, and playgrounds have none', async () => {
  const id = await newSquid()
  const limit = async () =>
    (
      await cluster(
        `select rolcanlogin, rolconnlimit from ${ofInstallation('pg_roles', 'rolname')} where rolname like '%\\_${id}\\_ro'`,
      )
    )[0]
  await sync(id)
  expect(await limit()).toEqual({ rolcanlogin: true, rolconnlimit: 10 })
  await sync(id, planWith({ external_access: { max_connections: 3 } }))
  expect(await limit()).toEqual({ rolcanlogin: true, rolconnlimit: 3 })
  await sync(id, planWith({ external_access: { max_connections: 0 } }))
  expect(await limit()).toMatchObject({ rolcanlogin: false })
  expect(await readerConnection(t.app, id)).toBeNull()
  await sync(id, planWith(), true)
  expect(await readerConnection(t.app, id)).toBeNull()
})

test('the connections of the owner are limited', async () => {
  const id = await newSquid()
  await sync(id)
  const { user } = (await ownerConnection(t.app, id)) ?? {}
  const [role] = await cluster(`select rolconnlimit as n from pg_roles where rolname = '${user}'`)
  expect(role).toEqual({ n: 35 })
})

test('erasing deletes the data and keeps the passwords; dropping deletes everything, despite open connections', async () => {
  const id = await newSquid()
  await sync(id)
  const owner = await ownerConnection(t.app, id)
  const openConnection = connect(owner?.url ?? '', { max: 1 })
  await openConnection.pool.query('create table a (n int)')
  await eraseDatabase(t.app, id)
  await eraseDatabase(t.app, id)
  await sync(id)
  expect(await ownerConnection(t.app, id)).toEqual(owner)
  await expect(query(owner, 'select * from a')).rejects.toThrow('does not exist')
  await dropDatabase(t.app, id)
  await dropDatabase(t.app, id)
  await openConnection.close()
  expect(await ownerConnection(t.app, id)).toBeNull()
  expect(
    await cluster(`select rolname from ${ofInstallation('pg_roles', 'rolname')} where rolname ~ '_${id}(_ro)?$'`),
  ).toEqual([])
})

test('a sync that was interrupted after any statement can be repeated', async () => {
  const { pool } = t.app.databaseHosts.get('main').cluster
  for (let maxStatements = 1; ; maxStatements++) {
    const id = await newSquid()
    let statements = 0
    const countStatement = () => {
      if (++statements > maxStatements) throw new Error('killed')
    }
    const connect = async () => {
      const client = await pool.connect()
      const query = async (text: string) => {
        if (!text.includes('lock_timeout')) countStatement()
        return await client.query(text)
      }
      return { query, release: () => client.release() }
    }
    const failingApp = {
      ...t.app,
      databaseHosts: singleHost({
        ...t.app.databaseHosts.get('main').cluster,
        pool: new Proxy(pool, {
          get: (target, key) => {
            if (key === 'connect') return connect
            if (key !== 'query') return Reflect.get(target, key, target)
            return async (text: string, values?: unknown[]) => {
              countStatement()
              return await target.query(text, values)
            }
          },
        }),
      }),
    }
    const isComplete = await syncDatabase(failingApp, { squidId: id, plan: planWith(), isPlayground: false }).then(
      () => true,
      () => false,
    )
    await sync(id)
    expect(await query(await ownerConnection(t.app, id), 'select 1 as n')).toEqual([{ n: 1 }])
    expect(await query(await readerConnection(t.app, id), 'select 1 as n')).toEqual([{ n: 1 }])
    if (isComplete) break
    expect(maxStatements).toBeLessThan(40)
  }
})

test('names with a prefix begin with exactly its characters, none of which is a placeholder', async () => {
  const roles = ['pre_fix_l1', 'pre_fix_l2', 'preXfix_l1', 'a_pre_fix_l1', 'pre%fix', 'preXXfix']
  for (const role of roles) await t.app.database.pool.query(`create role "${role}"`)
  try {
    const found = async (prefix: string) => (await namesWithPrefix(t.app.database, prefix)).toSorted()
    expect(await found('pre_fix_l')).toEqual(['pre_fix_l1', 'pre_fix_l2'])
    expect(await found('pre%')).toEqual(['pre%fix'])
    expect(await found('pre_fix\\')).toEqual([])
  } finally {
    for (const role of roles) await t.app.database.pool.query(`drop role "${role}"`)
  }
})

test('databases of deleted versions are dropped, but not those of existing versions and of versions with a higher id', async () => {
  const [deleted, kept] = [await newSquid(), await newSquid()]
  await sync(deleted)
  await sync(kept)
  const name = (await ownerConnection(t.app, kept))?.database ?? ''
  const future = name.replace(/\d+$/, '999999')
  await cluster(`create database ${future}`)
  await deleteSquid(t.app.db, deleted)
  expect(await dropOrphanedDatabases(t.app)).toEqual([deleted])
  expect(await dropOrphanedDatabases(t.app)).toEqual([])
  expect(await query(await ownerConnection(t.app, kept), 'select 1 as n')).toEqual([{ n: 1 }])
  expect(await cluster(`select 1 as n from pg_database where datname = '${future}'`)).toEqual([{ n: 1 }])
  await cluster(`drop database ${future}`)
})

test('after a restore, missing databases are created with their old passwords, and a new version does not get the database of an old one', async () => {
  const [missing, existing] = [await newSquid(), await newSquid()]
  await sync(missing)
  await sync(existing)
  const owner = await ownerConnection(t.app, missing)
  await query(await ownerConnection(t.app, existing), 'create table kept (n int)')
  await cluster(`drop database ${owner?.database} with (force)`)
  await cluster(`drop role ${owner?.user}`)
  expect(await createMissingDatabases(t.app)).toEqual([missing])
  expect(await createMissingDatabases(t.app)).toEqual([])
  await query(owner, 'create table a (n int)')
  expect(await query(await readerConnection(t.app, missing), 'select n from a')).toEqual([])
  for (const to of [owner, await readerConnection(t.app, missing)])
    expect(await query(to, 'show temp_file_limit')).not.toEqual([{ temp_file_limit: '-1' }])
  expect(await query(await ownerConnection(t.app, existing), 'select n from kept')).toEqual([])

  // Simulates a restore of the control plane from an older backup, after which a new version gets an id that was used before.
  await t.app.database.pool.query('delete from squid_databases where squid_id = $1', [existing])
  await sync(existing)
  await expect(query(await ownerConnection(t.app, existing), 'select n from kept')).rejects.toThrow('does not exist')
})

test('the connection limits never exceed the capacity in total, and each version gets at least its minimum', () => {
  const users = Array.from({ length: 20 }, (_, index) => ({
    squidId: index,
    server: 'main',
    role: `r${index}`,
    readRole: `r${index}_ro`,
    minConnections: 15,
    maxConnections: index === 0 ? 200 : 45,
    maxExternalConnections: index % 2 ? 10 : 0,
    isHibernated: index === 19,
  }))
  const sum = (limits: Map<string, number>) => [...limits.values()].reduce((total, limit) => total + limit, 0)
  for (const capacity of [310, 400, 700, 1000]) {
    const limits = shareConnections(users, capacity)
    expect(sum(limits)).toBeLessThanOrEqual(capacity)
    for (const { role, isHibernated } of users) expect(limits.get(role)).toBeGreaterThanOrEqual(isHibernated ? 2 : 15)
  }
  expect(shareConnections(users, 10_000).get('r0')).toBe(200)
  expect(shareConnections(users, 10_000).get('r19')).toBe(2)
})
