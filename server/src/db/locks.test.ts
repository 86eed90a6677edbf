import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cloneDatabase } from '../testing/test-database.ts'
import type { Database } from './database.ts'
import { openLocks, type Locks } from './locks.ts'

const space = 42
let database: Database
const opened: Locks[] = []
const open = () => {
  const locks = openLocks(database, space)
  opened.push(locks)
  return locks
}
beforeAll(async () => void (database = await cloneDatabase()))
afterAll(async () => {
  for (const locks of opened) await locks.close()
  await database?.close()
})

const endConnections = () =>
  database.pool.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'shoal-locks'")

async function untilTaken(locks: Locks, id: number) {
  while (true) {
    const lock = await locks.tryLock(id).catch(() => null)
    if (lock) return lock
    await sleep(5)
  }
}

test('one holder at a time, in this process and in any other', async () => {
  const [mine, theirs] = [open(), open()]
  const lock = await mine.tryLock(1)
  expect(lock).not.toBeNull()
  expect(await mine.tryLock(1)).toBeNull()
  expect(await theirs.tryLock(1)).toBeNull()
  expect(await theirs.tryLock(2)).not.toBeNull()
  await lock?.release()
  await lock?.release()
  expect(await theirs.tryLock(1)).not.toBeNull()
  expect(await mine.tryLock(1)).toBeNull()
})

test('a broken connection tells its holders, and the lock is free for others and for itself', async () => {
  const mine = open()
  const lock = await mine.tryLock(3)
  const lost = new Promise((done) => lock?.lost.addEventListener('abort', done))
  await endConnections()
  await lost
  const again = await untilTaken(mine, 3)
  expect(again.lost.aborted).toBe(false)
  // The old holder has nothing to give back any more.
  await lock?.release()
  expect(await open().tryLock(3)).toBeNull()
})

test('closing gives everything back', async () => {
  const mine = open()
  await mine.tryLock(4)
  await mine.close()
  await expect(mine.tryLock(4)).rejects.toThrow('closed')
  expect(await untilTaken(open(), 4)).toBeTruthy()
})
