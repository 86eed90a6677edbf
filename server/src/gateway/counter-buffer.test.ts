import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { App } from '../app.ts'
import { loopReports } from '../health/loops.ts'
import { CounterBuffer } from './counter-buffer.ts'

type Row = { key: string; count: number }

let isAvailable = true
let writtenRows: Row[] = []
let warnings: string[] = []
let buffer: CounterBuffer<Row>
let app: App

const count = (key: string) => {
  const row = buffer.row(key, () => ({ key, count: 0 }))
  if (row) row.count += 1
  return row !== null
}

beforeEach(() => {
  vi.useFakeTimers()
  isAvailable = true
  writtenRows = []
  warnings = []
  const log = { warn: (_: unknown, message?: string) => void warnings.push(message ?? '') }
  app = { config: {}, clock: { now: () => new Date() }, log } as unknown as App
  buffer = new CounterBuffer<Row>({
    app,
    name: 'test counts',
    write: async (rows) => {
      await new Promise((done) => setTimeout(done, 10))
      if (!isAvailable) throw new Error('the database is unavailable')
      writtenRows.push(...rows)
    },
    add: (into, from) => void (into.count += from.count),
    failureMessage: 'failed to write counts',
    maxRows: 3,
  })
})
afterEach(() => vi.useRealTimers())

test('counts are written each second, ordered by key', async () => {
  for (const key of ['b', 'a', 'b']) count(key)
  await vi.advanceTimersByTimeAsync(1_100)
  expect(writtenRows).toEqual([
    { key: 'a', count: 1 },
    { key: 'b', count: 2 },
  ])
  await vi.advanceTimersByTimeAsync(5_000)
  expect(writtenRows).toHaveLength(2)
})

test('the number of rows stays bounded while writes fail, and rows already in memory are still counted', async () => {
  isAvailable = false
  expect(['a', 'b', 'c', 'd'].map(count)).toEqual([true, true, true, false])
  await vi.advanceTimersByTimeAsync(1_005)
  // The rows of the write in progress may be put back, so they count towards the maximum.
  expect(count('e')).toBe(false)
  await vi.advanceTimersByTimeAsync(3_100)
  for (let i = 0; i < 100; i++) expect(count(`late ${i}`)).toBe(false)
  expect(count('a')).toBe(true)
  expect(new Set(warnings)).toEqual(new Set(['failed to write counts']))
  isAvailable = true
  await vi.advanceTimersByTimeAsync(1_100)
  expect(writtenRows).toEqual([
    { key: 'a', count: 2 },
    { key: 'b', count: 1 },
    { key: 'c', count: 1 },
  ])
  expect(count('d')).toBe(true)
})

test('counts recorded during a failed write are added to the rows that are put back', async () => {
  isAvailable = false
  count('a')
  const flushed = buffer.flush()
  await vi.advanceTimersByTimeAsync(5)
  for (const key of ['a', 'b']) count(key)
  await vi.advanceTimersByTimeAsync(10)
  await flushed
  isAvailable = true
  const closed = buffer.close()
  await vi.advanceTimersByTimeAsync(20)
  await closed
  expect(writtenRows).toEqual([
    { key: 'a', count: 2 },
    { key: 'b', count: 1 },
  ])
})

test('writes are reported as a loop, with their failures', async () => {
  await vi.advanceTimersByTimeAsync(1_100)
  expect(loopReports(app)).toMatchObject([{ name: 'test counts', failures: 0, error: null }])
  isAvailable = false
  count('a')
  await vi.advanceTimersByTimeAsync(1_100)
  expect(loopReports(app)).toMatchObject([{ failures: 1, error: 'the database is unavailable' }])
})
