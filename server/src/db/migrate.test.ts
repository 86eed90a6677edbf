import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { emptyDatabase } from '../testing/test-database.ts'
import { migrate, previousRelease } from './migrate.ts'

const migrations = join(import.meta.dirname, '../../migrations')
const replacedMigrations = join(import.meta.dirname, 'testing/replaced-migrations')

async function emptyPool(): Promise<pg.Pool> {
  const database = await emptyDatabase()
  onTestFinished(() => database.close())
  return database.pool
}

/** Applies the first `count` migrations of the development releases, as those releases did. */
async function makeOldDatabase(pool: pg.Pool, count = Infinity): Promise<void> {
  await pool.query(
    'create table shoal_migrations (name text primary key, applied_at timestamptz not null default now())',
  )
  for (const name of readdirSync(replacedMigrations).sort().slice(0, count)) {
    await pool.query(readFileSync(join(replacedMigrations, name), 'utf8'))
    await pool.query('insert into shoal_migrations (name) values ($1)', [name])
  }
}

/** Creates a copy of the migrations in which the file `name` is added or replaced. */
function folderWith(name: string, sql: string): string {
  const folder = join(inject('testsDir'), `migrations-${name}-${process.pid}`)
  mkdirSync(folder)
  cpSync(migrations, folder, { recursive: true })
  writeFileSync(join(folder, name), sql)
  return folder
}

/** Returns a sorted list of all objects of the schema, except NOT NULL constraints, whose names Postgres generates. */
async function describeSchema(pool: pg.Pool): Promise<string[]> {
  const queries = [
    `select 'column', table_name, column_name, data_type, udt_name, is_nullable, column_default, identity_generation
     from information_schema.columns where table_schema = 'public'`,
    `select 'index', indexdef from pg_indexes where schemaname = 'public'`,
    `select 'constraint', conrelid::regclass, conname, pg_get_constraintdef(oid) from pg_constraint
     where connamespace = 'public'::regnamespace and contype <> 'n'`,
    `select 'trigger', pg_get_triggerdef(oid) from pg_trigger where not tgisinternal`,
    `select 'partitioned', relname, pg_get_partkeydef(oid) from pg_class where relkind = 'p'`,
    `select 'storage', attrelid::regclass, attname, attstorage from pg_attribute join pg_class c on c.oid = attrelid
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and attnum > 0 and not attisdropped`,
    `select 'function', pg_get_functiondef(oid) from pg_proc where pronamespace = 'public'::regnamespace`,
  ]
  const results = await Promise.all(queries.map((query) => pool.query({ text: query, rowMode: 'array' })))
  return results
    .flatMap(({ rows }) => rows.map((row: unknown[]) => row.join(' | ')))
    .filter((line) => !line.includes('shoal_migrations'))
    .sort()
}

test('a migrated database of the development releases has the schema of a new database, and keeps its rows', async () => {
  const [oldPool, newPool] = [await emptyPool(), await emptyPool()]
  await makeOldDatabase(oldPool)
  await oldPool.query(`insert into users (email, full_name, created_at) values ('a@example.com', 'A', now())`)
  await oldPool.query(
    `insert into orgs (id, code, squids_limit, created_at) overriding system value values (1, 'acme', 1, now())`,
  )
  await oldPool.query(`insert into squids (id, org_id, name, slot, manifest_current) overriding system value
    values (1, 1, 'tokens', 'v1', '{"deploy": {"cors": {"enabled": true}}}')`)
  await oldPool.query(
    `insert into squid_tags (org_id, squid_name, tag, squid_id) values (1, 'another name', 'prod', 1)`,
  )
  const applied = await migrate(oldPool)
  expect(applied).not.toContain('0000_initial.sql')
  expect(await migrate(newPool)).toEqual(['0000_initial.sql', ...applied])
  expect(await describeSchema(oldPool)).toEqual(await describeSchema(newPool))
  expect((await oldPool.query('select email from users')).rows).toEqual([{ email: 'a@example.com' }])
  expect((await oldPool.query('select cors from squids')).rows).toEqual([{ cors: { enabled: true } }])
  expect((await oldPool.query('select squid_name from squid_tags')).rows).toEqual([{ squid_name: 'tokens' }])
  expect(await migrate(oldPool)).toEqual([])
})

test('API tokens created before scopes existed keep all rights, and new tokens must have a scope', async () => {
  const pool = await emptyPool()
  const folder = join(inject('testsDir'), `migrations-without-scopes-${process.pid}`)
  cpSync(migrations, folder, { recursive: true })
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.sql') && file >= '0003'))
    rmSync(join(folder, name))
  await migrate(pool, folder)
  const user = `insert into users (email, full_name, created_at) values ('a@example.com', 'A', now()) returning id`
  const { rows } = await pool.query<{ id: string }>(user)
  const addToken = (name: string) =>
    pool.query('insert into api_tokens (user_id, name, prefix, hash, created_at) values ($1, $2, $2, $2, now())', [
      rows[0]?.id,
      name,
    ])
  await addToken('old')
  await migrate(pool)
  expect((await pool.query('select name, scope, org_id from api_tokens')).rows).toEqual([
    { name: 'old', scope: 'admin', org_id: null },
  ])
  await expect(addToken('new')).rejects.toThrow('"scope"')
})

test('a database that lacks a migration of the development releases is rejected and not changed', async () => {
  const pool = await emptyPool()
  await makeOldDatabase(pool, 19)
  await expect(migrate(pool)).rejects.toThrow('lacks 0019_container-runs.sql. Start the last development release')
  expect((await pool.query('select count(*)::int as count from shoal_migrations')).rows).toEqual([{ count: 19 }])
})

test('an edited migration is rejected with its name', async () => {
  const pool = await emptyPool()
  await migrate(pool)
  const sql = readFileSync(join(migrations, '0000_initial.sql'), 'utf8')
  const edited = folderWith('0000_initial.sql', `${sql}\n-- edited`)
  await expect(migrate(pool, edited)).rejects.toThrow(
    'Migration 0000_initial.sql was edited after this database applied it',
  )
})

test('rows that violate a new CHECK are listed, and the migration is not applied', async () => {
  const pool = await emptyPool()
  await makeOldDatabase(pool)
  await pool.query(`insert into orgs (code, status, squids_limit, created_at)
    select 'org-' || n, case when n > 2 then 'RICH' else 'ACTIVE' end, 1, now() from generate_series(1, 9) n`)
  const before = await describeSchema(pool)
  await expect(migrate(pool)).rejects.toThrow(
    /rows violate its constraints:\n- orgs_status_check of orgs: id 3, status "RICH"; .*id 7, status "RICH"; and more\nCorrect or delete these rows/,
  )
  expect(await describeSchema(pool)).toEqual(before)
  await pool.query(`update orgs set status = 'ACTIVE' where status = 'RICH'`)
  await migrate(pool)
  await expect(pool.query(`update orgs set status = 'RICH'`)).rejects.toThrow('orgs_status_check')
})

test('processes that start concurrently apply each migration once', async () => {
  const pool = await emptyPool()
  const applied = await Promise.all([migrate(pool), migrate(pool), migrate(pool)])
  expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
})

/** A folder with the migrations of the previous release. */
function folderOfPreviousRelease(): string {
  const folder = join(inject('testsDir'), `migrations-before-${process.pid}`)
  cpSync(migrations, folder, { recursive: true })
  const isNewer = (name: string) => name.endsWith('.sql') && name > previousRelease.newestMigration
  for (const name of readdirSync(folder).filter(isNewer)) rmSync(join(folder, name))
  return folder
}

test('the previous release starts on the database of this release and changes nothing; an earlier one is rejected', async () => {
  const pool = await emptyPool()
  const next = folderWith('9999_next.sql', 'create table added_by_this_release (id int)')
  await migrate(pool, next)
  const schema = await describeSchema(pool)
  const folder = folderOfPreviousRelease()
  expect(await migrate(pool, folder)).toEqual([])
  rmSync(join(folder, previousRelease.newestMigration))
  await expect(migrate(pool, folder)).rejects.toThrow(
    `A later release migrated this database, and this one is too old for it: it lacks ${previousRelease.newestMigration}.`,
  )
  expect(await describeSchema(pool)).toEqual(schema)
})

test('migrations since the previous release only add objects, so that the previous release runs on the newer schema', () => {
  const removingSql =
    /\bdrop\s+(table|column|view|function|default)|\brename\b|\bset\s+not\s+null|\bset\s+data\s+type|\balter\s+column\s+\S+\s+type\b|\b(truncate|delete\s+from)\b/i
  const names = readdirSync(migrations).filter(
    (name) => name.endsWith('.sql') && name > previousRelease.newestMigration,
  )
  const breaking = names.flatMap((name) => {
    const statements = readFileSync(join(migrations, name), 'utf8').split(';')
    const addsRequiredColumn = (sql: string) =>
      /\badd\s+column\b/i.test(sql) && /not\s+null/i.test(sql) && !/default/i.test(sql)
    return statements
      .filter((sql) => removingSql.test(sql) || addsRequiredColumn(sql))
      .map((sql) => `${name}: ${sql.trim()}`)
  })
  expect(breaking).toEqual([])
})
