import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { emptyDatabase } from '../testing/test-database.ts'
import { migrate } from './migrate.ts'

const migrations = join(import.meta.dirname, '../../migrations')
const replaced = join(import.meta.dirname, 'testing/replaced-migrations')

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
  for (const name of readdirSync(replaced).sort().slice(0, count)) {
    await pool.query(readFileSync(join(replaced, name), 'utf8'))
    await pool.query('insert into shoal_migrations (name) values ($1)', [name])
  }
}

/** A copy of the migrations in which the file `name` is added or replaced. */
function folderWith(name: string, sql: string): string {
  const folder = join(inject('testsDir'), `migrations-${name}-${process.pid}`)
  mkdirSync(folder)
  cpSync(migrations, folder, { recursive: true })
  writeFileSync(join(folder, name), sql)
  return folder
}

/** A sorted list of all parts of the schema, without NOT NULL constraints, whose names Postgres generates. */
async function schemaOf(pool: pg.Pool): Promise<string[]> {
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

test('a migrated database of the development releases has the schema of a new one, and keeps its rows', async () => {
  const [old, fresh] = [await emptyPool(), await emptyPool()]
  await makeOldDatabase(old)
  await old.query(`insert into users (email, full_name, created_at) values ('a@example.com', 'A', now())`)
  await old.query(
    `insert into orgs (id, code, squids_limit, created_at) overriding system value values (1, 'acme', 1, now())`,
  )
  await old.query(`insert into squids (id, org_id, name, slot, manifest_current) overriding system value
    values (1, 1, 'tokens', 'v1', '{"deploy": {"cors": {"enabled": true}}}')`)
  await old.query(`insert into squid_tags (org_id, squid_name, tag, squid_id) values (1, 'another name', 'prod', 1)`)
  const applied = await migrate(old)
  expect(applied).not.toContain('0000_initial.sql')
  expect(await migrate(fresh)).toEqual(['0000_initial.sql', ...applied])
  expect(await schemaOf(old)).toEqual(await schemaOf(fresh))
  expect((await old.query('select email from users')).rows).toEqual([{ email: 'a@example.com' }])
  expect((await old.query('select cors from squids')).rows).toEqual([{ cors: { enabled: true } }])
  expect((await old.query('select squid_name from squid_tags')).rows).toEqual([{ squid_name: 'tokens' }])
  expect(await migrate(old)).toEqual([])
})

test('a database that lacks a migration of the development releases is refused and not changed', async () => {
  const pool = await emptyPool()
  await makeOldDatabase(pool, 19)
  await expect(migrate(pool)).rejects.toThrow('lacks 0019_container-runs.sql. Start the last development release')
  expect((await pool.query('select count(*)::int as count from shoal_migrations')).rows).toEqual([{ count: 19 }])
})

test('an edited migration is refused by name', async () => {
  const pool = await emptyPool()
  await migrate(pool)
  const sql = readFileSync(join(migrations, '0000_initial.sql'), 'utf8')
  const edited = folderWith('0000_initial.sql', `${sql}\n-- edited`)
  await expect(migrate(pool, edited)).rejects.toThrow(
    'Migration 0000_initial.sql was edited after this database applied it',
  )
})

test('rows that break a new CHECK are named, and nothing of the migration is applied', async () => {
  const pool = await emptyPool()
  await makeOldDatabase(pool)
  await pool.query(`insert into orgs (code, status, squids_limit, created_at)
    select 'org-' || n, case when n > 2 then 'RICH' else 'ACTIVE' end, 1, now() from generate_series(1, 9) n`)
  const before = await schemaOf(pool)
  await expect(migrate(pool)).rejects.toThrow(
    /rows break its constraints:\n- orgs_status_check of orgs: id 3, status "RICH"; .*id 7, status "RICH"; and more\nCorrect or delete these rows/,
  )
  expect(await schemaOf(pool)).toEqual(before)
  await pool.query(`update orgs set status = 'ACTIVE' where status = 'RICH'`)
  await migrate(pool)
  await expect(pool.query(`update orgs set status = 'RICH'`)).rejects.toThrow('orgs_status_check')
})

test('processes that start concurrently apply each migration once', async () => {
  const pool = await emptyPool()
  const applied = await Promise.all([migrate(pool), migrate(pool), migrate(pool)])
  expect(applied.filter((names) => names.length > 0)).toHaveLength(1)
})
