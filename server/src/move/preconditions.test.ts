import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { connect, type Database } from '../db/database.ts'
import { emptyDatabase } from '../testing/test-database.ts'
import { connectForMove, withOwnName } from './move-client-store.ts'
import { requireUnused } from './preconditions.ts'

let database: Database
beforeEach(async () => {
  database = await emptyDatabase()
})
afterEach(() => database?.close())

const side = () => ({ database, location: 'the source' })
const withParameter = (name: string, value: string): string => {
  const url = new URL(database.url)
  url.searchParams.set(name, value)
  return url.href
}

test('every connection of another process prevents a move, regardless of its name', async () => {
  for (const name of ['shoal', 'shoal move', 'x', '']) {
    const client = new Client(withParameter('application_name', name))
    await client.connect()
    try {
      await expect(requireUnused(side(), 0), name).rejects.toThrow('another program uses the source')
    } finally {
      await client.end()
    }
  }
  await expect(requireUnused(side())).resolves.toBeUndefined()
})

test('connections of the process that moves do not prevent the move', async () => {
  const own = connect(withOwnName(withParameter('application_name', 'x')))
  const client = await connectForMove(withParameter('application_name', 'x'))
  try {
    await own.pool.query('select 1')
    await expect(requireUnused(side(), 0)).resolves.toBeUndefined()
  } finally {
    await client.end()
    await own.close()
  }
})

test('waits for connections that are about to end', async () => {
  const client = new Client(database.url)
  await client.connect()
  const checked = requireUnused(side())
  await client.end()
  await expect(checked).resolves.toBeUndefined()
})

test('no time limit of the database or the URL ends connections of a move, and other options of the URL apply', async () => {
  await database.pool
    .query(`do $$ begin execute format('alter database %I set idle_session_timeout = 5000', current_database());
    if current_setting('server_version_num')::int >= 170000 then
      execute format('alter database %I set transaction_timeout = 5000', current_database()); end if; end $$`)
  const client = await connectForMove(withParameter('options', '-c work_mem=5MB -c statement_timeout=5000'))
  try {
    const { rows } = await client.query<{ name: string; setting: string }>(
      `select name, setting from pg_settings where name ~ '_timeout$' and name ~ '^(idle|statement|transaction)' and setting <> '0'
       union all select 'work_mem', current_setting('work_mem')`,
    )
    expect(rows).toEqual([{ name: 'work_mem', setting: '5MB' }])
  } finally {
    await client.end()
  }
})
