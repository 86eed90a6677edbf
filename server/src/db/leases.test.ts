import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { startPostgresProxy } from '../testing/postgres-proxy.ts'
import { until } from '../testing/until.ts'
import { cloneDatabase } from '../testing/test-database.ts'
import type { Database } from './database.ts'
import { openLocks, runAsLeader, type Locks } from './leases.ts'

const space = 42
let database: Database
const openedLocks: Locks[] = []
const open = () => {
  const locks = openLocks(database, space)
  openedLocks.push(locks)
  return locks
}
beforeAll(async () => void (database = await cloneDatabase()))
afterAll(async () => {
  for (const locks of openedLocks) await locks.close()
  await database?.close()
})

const endConnections = (name = 'shoal-locks') =>
  database.pool.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and datname = current_database()',
    [name],
  )

async function untilLocked(locks: Locks, id: number) {
  while (true) {
    const lock = await locks.tryLock(id).catch(() => null)
    if (lock) return lock
    await sleep(5)
  }
}

test('a lock has one holder at a time, within this process and across processes', async () => {
  const [first, second] = [open(), open()]
  const lock = await first.tryLock(1)
  expect(lock).not.toBeNull()
  expect(await first.tryLock(1)).toBeNull()
  expect(await second.tryLock(1)).toBeNull()
  expect(await second.tryLock(2)).not.toBeNull()
  await lock?.release()
  await lock?.release()
  expect(await second.tryLock(1)).not.toBeNull()
  expect(await first.tryLock(1)).toBeNull()
})

test('a broken connection notifies the holders of its locks and frees the locks for every process', async () => {
  const first = open()
  const lock = await first.tryLock(3)
  const whenLost = new Promise((done) => lock?.lost.addEventListener('abort', done))
  await endConnections()
  await whenLost
  const newLock = await untilLocked(first, 3)
  expect(newLock.lost.aborted).toBe(false)
  // The lost lock must not release the new one.
  await lock?.release()
  expect(await open().tryLock(3)).toBeNull()
})

test('closing releases all locks', async () => {
  const first = open()
  await first.tryLock(4)
  await first.close()
  await expect(first.tryLock(4)).rejects.toThrow('closed')
  expect(await untilLocked(open(), 4)).toBeTruthy()
})

test('one process leads at a time, and another process becomes the leader when the leader ends', async () => {
  const log = pino({ level: 'silent' })
  const currentLeaders = new Set<string>()
  let terms = 0
  let maxConcurrent = 0
  const startLeader = (name: string) =>
    runAsLeader(database, log, 'test', async (_, signal) => {
      currentLeaders.add(name)
      terms++
      maxConcurrent = Math.max(maxConcurrent, currentLeaders.size)
      await new Promise((done) => signal.addEventListener('abort', done))
      currentLeaders.delete(name)
    })
  const leaders = ['a', 'b', 'c'].map(startLeader)
  try {
    await until(() => expect(currentLeaders.size).toBe(1))
    for (let i = 2; i < 5; i++) {
      await endConnections('shoal-test')
      await until(() => expect(terms).toBe(i))
    }
    await leaders[0]?.close()
    await until(() => expect([...currentLeaders]).toEqual([expect.stringMatching(/[bc]/)]))
    expect(maxConcurrent).toBe(1)
  } finally {
    await Promise.all(leaders.map((one) => one.close()))
  }
  expect(currentLeaders.size).toBe(0)
})

test('Postgres detects that the machine of a leader or lock holder has vanished', async () => {
  // Postgres reports the keepalive settings in effect on its end of this TCP connection.
  const settings: string[] = []
  const log = pino({ level: 'silent' })
  const leading = runAsLeader(database, log, 'keepalive', async (client, signal) => {
    for (const name of ['idle', 'interval', 'count']) {
      const { rows } = await client.query<Record<string, string>>(`show tcp_keepalives_${name}`)
      settings.push(Object.values(rows[0] ?? {})[0] ?? '')
    }
    await new Promise((done) => signal.addEventListener('abort', done))
  })
  try {
    await until(() => expect(settings).toEqual(['10', '5', '3']))
  } finally {
    await leading.close()
  }
})

test('a leader soon detects that its database has vanished', { timeout: 180_000 }, async () => {
  const proxy = await startPostgresProxy(inject('postgresUrl'))
  const proxiedDatabase = { ...database, url: proxy.via(database.url) }
  let isLeading = false
  let abortedMs = 0
  const leading = runAsLeader(proxiedDatabase, pino({ level: 'silent' }), 'vanished', async (client, signal) => {
    isLeading = true
    signal.addEventListener('abort', () => (abortedMs = performance.now()))
    while (!signal.aborted) {
      await client.query('select 1')
      await sleep(50)
    }
  })
  try {
    await until(() => expect(isLeading).toBe(true))
    const frozenMs = performance.now()
    proxy.freeze()
    await until(() => expect(abortedMs).toBeGreaterThan(0), 90_000)
    // This takes about 20 seconds on a quiet machine. TCP alone would need a quarter of an hour.
    expect(abortedMs - frozenMs).toBeLessThan(60_000)
  } finally {
    await proxy.stop()
    await leading.close()
    await proxy.close()
  }
})
