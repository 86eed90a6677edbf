import { expect, test } from 'vitest'
import { chooseEntriesToEvict } from './cache-eviction.ts'

const day = 24 * 3_600_000
const nowMs = 100 * day
const entry = (dir: string, bytes: number, ageMs: number, isInUse = false) => ({
  dir,
  tenant: dir.split('/')[0] ?? '',
  bytes,
  usedAtMs: nowMs - ageMs,
  isInUse,
})
const evicted = (entries: ReturnType<typeof entry>[], maxBytes: number) =>
  chooseEntriesToEvict(entries, maxBytes, nowMs).map(({ dir }) => dir)

test('a tenant that fills the cache evicts only its own entries, even if those of the others are older', () => {
  const hostile = Array.from({ length: 30 }, (_, index) => entry(`hostile/${index}`, 10, index))
  const victim = [entry('victim/a', 20, day), entry('victim/b', 20, 2 * day)]
  const dirs = evicted([...victim, ...hostile], 100)
  expect(dirs).toHaveLength(24)
  expect(dirs.every((dir) => dir.startsWith('hostile/'))).toBe(true)
  expect(dirs[0]).toBe('hostile/29')
})

test('if all tenants use more than an equal share, each keeps one', () => {
  const entries = ['a', 'b', 'c', 'd'].flatMap((tenant, rank) =>
    Array.from({ length: 10 * (rank + 1) }, (_, index) => entry(`${tenant}/${index}`, 1, index + 1)),
  )
  const dirs = new Set(evicted(entries, 36))
  const kept = (tenant: string) => entries.filter((one) => one.tenant === tenant && !dirs.has(one.dir)).length
  expect(['a', 'b', 'c', 'd'].map(kept)).toEqual([9, 9, 9, 9])
})

test('entries that were not used for a week are evicted first, even those of a tenant that uses little', () => {
  const entries = [entry('small/old', 10, 8 * day), entry('small/older', 10, 9 * day), entry('large/new', 90, 1)]
  expect(evicted(entries, 100)).toEqual(['small/older'])
  expect(evicted(entries, 90)).toEqual(['small/older', 'small/old'])
  expect(evicted(entries, 110)).toEqual([])
})

test('entries in use are never evicted, and count as used space', () => {
  expect(evicted([entry('a/used', 90, 2, true), entry('a/b', 10, 1), entry('b/c', 20, 1)], 100)).toEqual(['a/b', 'b/c'])
})
