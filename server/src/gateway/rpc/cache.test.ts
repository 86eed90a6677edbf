import * as fc from 'fast-check'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { Cache, keyOf } from './cache.ts'
import { DiskCache } from './disk-cache.ts'

const dir = mkdtempSync(join(tmpdir(), 'rpc-cache-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const log = pino({ level: 'silent' })

const hexText = fc.stringMatching(/^0x[0-9a-fA-F]{0,64}$/)
const params = fc.array(fc.oneof(hexText, fc.boolean(), fc.integer(), fc.string(), fc.dictionary(fc.string(), hexText)))

test('calls have one key exactly when they ask the same', () => {
  const meaning = (value: unknown) =>
    JSON.stringify(value, (_, v: unknown) => (typeof v === 'string' && /^0x[0-9a-f]*$/i.test(v) ? v.toLowerCase() : v))
  fc.assert(
    fc.property(
      params,
      params,
      fc.constantFrom('eth_call', 'eth_getLogs'),
      fc.constantFrom('a', 'b'),
      (one, other, method, chain) => {
        expect(keyOf('a', 'eth_call', one) === keyOf(chain, method, other)).toBe(
          chain === 'a' && method === 'eth_call' && meaning(one) === meaning(other),
        )
        expect(keyOf('a', 'eth_call', one)).toBe(keyOf('a', 'eth_call', JSON.parse(meaning(one))))
      },
    ),
    { numRuns: 500 },
  )
})

test('a cache answers what was put in or nothing, and stays within its memory', () => {
  const key = fc.integer({ min: 0, max: 20 }).map((n) => `key ${n}`)
  const step = fc.record({ key, length: fc.option(fc.integer({ min: 0, max: 3000 }), { nil: null }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const cache = new Cache(10_000)
      const put = new Map<string, string>()
      for (const { key, length } of steps) {
        const body = length === null ? null : `${key} `.repeat(length).slice(0, length)
        // What is kept never changes.
        const found = cache.get(key)?.toString()
        expect(found ?? put.get(key)).toBe(put.get(key))
        if (body !== null) {
          cache.set(key, Buffer.from(body))
          put.set(key, found ?? body)
        }
        expect(cache.bytes).toBeLessThanOrEqual(10_000)
      }
    }),
  )
})

test('what is used stays, what is not goes first', () => {
  const cache = new Cache(3_000)
  for (const name of ['a', 'b', 'c']) cache.set(name, Buffer.alloc(700))
  cache.get('a')
  cache.set('d', Buffer.alloc(700))
  expect(['a', 'b', 'c', 'd'].filter((name) => cache.get(name))).toEqual(['a', 'c', 'd'])
})

test('the disk keeps answers over a restart, within its limit, and a broken file costs only the cache', () => {
  const file = join(dir, 'answers.sqlite')
  const first = new DiskCache(file, 100_000, log)
  for (let i = 0; i < 500; i += 1) first.set(`key ${i}`, Buffer.from(`body ${i} `.repeat(50)))
  // Not written yet, and there all the same.
  expect(first.get('key 499')?.toString()).toBe('body 499 '.repeat(50))
  first.close()
  const second = new DiskCache(file, 100_000, log)
  const there = Array.from({ length: 500 }, (_, i) => second.get(`key ${i}`)).filter((body) => body !== null)
  expect(there.length).toBeGreaterThan(100)
  expect(there.reduce((sum, body) => sum + body.length, 0)).toBeLessThanOrEqual(100_000)
  expect(second.get('key 499')?.toString()).toBe('body 499 '.repeat(50))
  second.close()
  writeFileSync(file, 'not a database, but long enough to be taken for one '.repeat(50))
  const third = new DiskCache(file, 100_000, log)
  expect(third.get('key 499')).toBeNull()
  third.set('a', Buffer.from('b'))
  third.flush()
  expect(third.get('a')?.toString()).toBe('b')
  third.close()
})
