import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Database } from '../db/database.ts'
import { cloneDatabase } from '../testing/test-database.ts'
import { until } from '../testing/until.ts'
import { InstallationMoved, requireNotMoved, watchMoves } from './move-mark.ts'
import { markArrived, markResumed, writeMark } from './move-mark-store.ts'

let database: Database
beforeAll(async () => {
  database = await cloneDatabase()
})
afterAll(() => database?.close())
beforeEach(async () => void (await database.pool.query('delete from installation_move')))

const mark = (state: 'departed' | 'copied') =>
  writeMark(database.pool, {
    id: 'b3f6a1de-0000-4000-8000-000000000000',
    state,
    other: 'the other place',
    details: { servers: {}, copied: [], images: {} },
    stoppedAt: new Date(0),
  })

test('an installation that was never moved, or has arrived, may start', async () => {
  await expect(requireNotMoved(database.db)).resolves.toBeUndefined()
  await mark('copied')
  await markArrived(database.db, new Date(1))
  await expect(requireNotMoved(database.db)).resolves.toBeUndefined()
})

test('neither the source of a move may start, nor a target to which the move has not ended', async () => {
  await mark('departed')
  await expect(requireNotMoved(database.db)).rejects.toThrow('was moved to the other place')
  await mark('copied')
  await expect(requireNotMoved(database.db)).rejects.toThrow('from the other place to this database has not ended')
})

test('a running process detects that the installation was moved', async () => {
  const errors: InstallationMoved[] = []
  const stop = watchMoves(database.db, (error) => errors.push(error), 10)
  try {
    await mark('departed')
    await until(() => expect(errors).toHaveLength(1))
    expect(errors[0]).toBeInstanceOf(InstallationMoved)
  } finally {
    stop()
  }
})

test('only one worker reports the end of a move', async () => {
  await mark('copied')
  expect(await markResumed(database.db, new Date(2))).toBe(true)
  expect(await markResumed(database.db, new Date(3))).toBe(false)
})
