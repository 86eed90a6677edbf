import { globSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { getTableName, is } from './sql.ts'
import { getTableConfig, PgTable } from './columns.ts'
import { cloneDatabase } from '../testing/test-database.ts'
import type { Database } from './database.ts'
import { checkName, enumColumns, snakeCase } from './checks.ts'

const sourceFolder = join(import.meta.dirname, '..')

let database: Database
let tables: PgTable[]

beforeAll(async () => {
  database = await cloneDatabase()
  const files = globSync('{installation,mail,modules/*}/tables.ts', { cwd: sourceFolder })
  const modules = await Promise.all(files.map(async (file) => Object.values(await import(join(sourceFolder, file)))))
  tables = modules.flat().filter((value): value is PgTable => is(value, PgTable))
})
afterAll(() => database.close())

async function query<T extends object>(sql: string): Promise<T[]> {
  return (await database.pool.query<T>(sql)).rows
}

test('every table of the database is declared in a tables.ts, with the same columns', async () => {
  const rows = await query<{ table: string; columns: string[] }>(`
    select table_name as table, array_agg(column_name::text order by column_name) as columns
    from information_schema.columns join pg_class on relname = table_name and not relispartition
    where table_schema = 'public' and table_name <> 'shoal_migrations' group by table_name`)
  const declared = tables.map((table): [string, string[]] => [
    getTableName(table),
    getTableConfig(table)
      .columns.map(({ name }) => snakeCase(name))
      .sort(),
  ])
  expect(Object.fromEntries(declared)).toEqual(
    Object.fromEntries(rows.map(({ table, columns }) => [table, columns.sort()])),
  )
})

test('every foreign key has an index that begins with its columns', async () => {
  const unindexed = await query<{ key: string }>(`
    select conrelid::regclass || '.' || conname as key from pg_constraint c
    where contype = 'f' and connamespace = 'public'::regnamespace and not exists (
      select from pg_index i where i.indrelid = c.conrelid and i.indpred is null
        and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey)`)
  expect(unindexed).toEqual([])
})

/** Tables whose rows are found by other columns only. */
const tablesWithoutOrgIndex = ['billing_test_setups', 'charges']

test('every table that refers to an organization has an index for that, even without a foreign key', async () => {
  const unindexed = await query<{ table: string }>(`
    select attrelid::regclass::text as table from pg_attribute a join pg_class t on t.oid = attrelid
    where attname = 'org_id' and relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and not exists (select from pg_index i where i.indrelid = attrelid and i.indpred is null and i.indkey[0] = a.attnum)
    order by 1`)
  expect(unindexed.map(({ table }) => table)).toEqual(tablesWithoutOrgIndex)
})

test('every enum column has a CHECK with exactly its values', async () => {
  const checks = await query<{ table: string; name: string; definition: string }>(`
    select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where contype = 'c' and convalidated and connamespace = 'public'::regnamespace`)
  const expected = tables.flatMap((table) => enumColumns(table))
  expect(expected.length).toBeGreaterThan(15)
  const missing = expected.filter(({ table, name, values }) => {
    const check = checks.find((one) => one.table === table && one.name === checkName(table, name))
    const allowedValues = new Set(check?.definition.matchAll(/'([^']+)'::text/g).map(([, value]) => value))
    return allowedValues.size !== values.length || !values.every((value) => allowedValues.has(value))
  })
  expect(missing).toEqual([])
})
