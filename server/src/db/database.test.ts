import { afterAll, beforeAll, expect, test } from 'vitest'
import { cloneDatabase } from '../testing/test-database.ts'
import { connect, type Database } from './database.ts'

let database: Database
beforeAll(async () => void (database = await cloneDatabase()))
afterAll(() => database?.close())

const sleepsInProgress = async () => {
  const { rows } = await database.pool.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and state = 'active' and starts_with(query, 'select pg_sleep(')`,
  )
  return rows[0]?.count
}

const waitingForLocks = async () => {
  const { rowCount } = await database.pool.query(
    `select 1 from pg_locks where locktype = 'advisory' and not granted
     and database = (select oid from pg_database where datname = current_database())`,
  )
  return rowCount
}

test('closing waits for a query in progress', async () => {
  const holder = await database.pool.connect()
  await holder.query('select pg_advisory_lock(1)')
  const closing = connect(database.url)
  const query = closing.pool.query('select pg_advisory_lock(1)')
  await expect.poll(waitingForLocks).toBe(1)
  const closed = closing.close()
  await holder.query('select pg_advisory_unlock(1)')
  holder.release()
  await closed
  expect((await query).rows).toHaveLength(1)
})

test('closing ends within its limit even if a query hangs and a connection is not released', async () => {
  const closing = connect(database.url, { closeTimeoutMs: 200 })
  await closing.pool.connect()
  const query = closing.pool.query('select pg_sleep(3600)').then(
    () => 'completed',
    (error: unknown) => String(error),
  )
  await expect.poll(sleepsInProgress).toBe(1)
  await closing.close()
  expect(await query).toMatch(/canceling statement|closed/)
  // Postgres does not continue the query.
  await expect.poll(sleepsInProgress).toBe(0)
})
