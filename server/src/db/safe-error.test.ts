import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { sql } from './sql.ts'
import type { Database } from './database.ts'
import { createLog } from '../startup/log.ts'
import { safeStack, safeText } from './safe-error.ts'
import { cloneDatabase } from '../testing/test-database.ts'

let database: Database
beforeAll(async () => {
  database = await cloneDatabase()
  await database.pool.query('create table people (email text primary key, age int check (age > 0))')
  await database.pool.query(`insert into people values ('hush@example.com', 1)`)
})
afterAll(() => database?.close())

const errorOf = (work: PromiseLike<unknown>) =>
  Promise.resolve(work).then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  )

const failingQueries: [string, () => PromiseLike<unknown>][] = [
  ['a parameter', () => database.db.execute(sql`select ${'hush'}::text from nowhere`)],
  ['a row that exists (detail)', () => database.db.execute(sql`insert into people values (${'hush@example.com'}, 2)`)],
  ['a row that violates a check', () => database.db.execute(sql`insert into people values (${'hush'}, -1)`)],
  ['a value of the wrong type', () => database.db.execute(sql`select ${'hush "hush" hush'}::int`)],
  ['a date', () => database.db.execute(sql`select ${'hush'}::timestamptz`)],
  ['broken JSON (where)', () => database.db.execute(sql`select ${'{"a": hush}'}::jsonb`)],
  ['an exception raised by a function', () => database.pool.query(`do $$ begin raise exception 'hush'; end $$`)],
  [
    'a parameter with lines like those of a stack',
    () => database.db.execute(sql`select ${'x\n    at hush (/a.ts:1:2)\n    at /hush:1:2'}::int`),
  ],
]

test.each(failingQueries)('%s does not appear in the log or on the command line', async (_, query) => {
  const error = await errorOf(query())
  expect(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error)).toContain('hush')
  const wrappedErrors = [
    error,
    new Error('The work failed', { cause: error }),
    new Error(`The work failed: ${(error as Error).message}`, { cause: error }),
    new AggregateError([new Error('one', { cause: error })], 'Several failed'),
    Object.assign(new Error('with more'), { detail: 'hush', params: ['hush'], cause: error }),
  ]
  let output = ''
  const log = createLog({ SHOAL_LOG_LEVEL: 'info' }, { write: (line: string) => void (output += line) })
  for (const err of wrappedErrors) {
    log.error({ err }, 'failed')
    log.child({ part: 'api' }).warn({ error: err }, 'failed')
    log.error(err)
    output += safeText(err) + safeStack(err)
  }
  expect(output).not.toContain('hush')
  // The location of the error is kept.
  expect(output).toContain('safe-error.test.ts')
})

test('the query, code, constraint and cause of an error are kept', async () => {
  const error = await errorOf(database.db.execute(sql`insert into people values (${'hush@example.com'}, 2)`))
  let output = ''
  createLog({ SHOAL_LOG_LEVEL: 'info' }, { write: (line: string) => void (output = line) }).error({ err: error }, 'x')
  expect(JSON.parse(output)).toMatchObject({
    err: {
      type: 'DrizzleQueryError',
      query: 'insert into people values ($1, 2)',
      cause: {
        code: '23505',
        constraint: 'people_pkey',
        message: 'duplicate key value violates unique constraint "people_pkey"',
      },
    },
  })
})

test("the operator's command line reports an error without the entered values", async () => {
  const url = inject('postgresUrl').replace('{database}', 'postgres')
  const name = new URL(database.url).pathname.slice(1)
  await database.pool.query('alter table users add constraint none check (id < 0)')
  const cli = join(import.meta.dirname, '../cli.ts')
  const args = [cli, 'user', 'add', '--email', 'hush@example.com', '--name', 'Hush']
  const env = {
    ...process.env,
    DATABASE_URL: url.replace('/postgres', `/${name}`),
    SHOAL_DATA_DIR: mkdtempSync(join(inject('testsDir'), 'cli-')),
  }
  const error = (await errorOf(promisify(execFile)(process.execPath, args, { env }))) as { stderr: string }
  expect(error.stderr).toContain('violates check constraint "none"')
  expect(error.stderr).not.toMatch(/hush|argon2/i)
})
