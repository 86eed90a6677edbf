import { Client } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Database } from '../../db/database.ts'
import { singleHost } from '../../db/database-hosts.ts'
import { cloneDatabase } from '../../testing/test-database.ts'
import { limitConnectionsOf } from './connections.ts'

let database: Database
beforeEach(async () => {
  database = await cloneDatabase()
})
afterEach(() => database?.close())

test('many callers that set the limits of one server leave connections for others while they wait for another worker', async () => {
  const { pool, db } = database
  const host = singleHost(database).get('main')
  const otherWorker = new Client(database.url)
  await otherWorker.connect()
  try {
    await otherWorker.query(`select pg_advisory_lock(hashtextextended('shoal:connection-limits', 0))`)
    const all = Promise.all(
      Array.from({ length: 2 * (pool.options.max ?? 0) }, () => limitConnectionsOf({ db, database }, host)),
    )
    const waiting = `select from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`
    await expect.poll(async () => (await otherWorker.query(waiting)).rowCount).toBeGreaterThan(0)
    // All callers have read the capacity when no connection is in use but that of the one that waits.
    await expect.poll(() => pool.totalCount - pool.idleCount).toBe(1)
    let acquired = 0
    pool.on('acquire', () => acquired++)
    await otherWorker.query('select pg_advisory_unlock_all()')
    await all
    // The callers that waited share one run, which reads the capacity, computes the limits and sets them.
    expect(acquired).toBeLessThanOrEqual(5)
  } finally {
    await otherWorker.end()
  }
})
