import * as fc from 'fast-check'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { Cache, keyOf } from './cache.ts'
import { openDiskCache } from './disk-cache.ts'

const dir = mkdtempSync(join(tmpdir(), 'rpc-cache-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))
const log = pino({ level: 'silent' })

const hexText = fc.stringMatching(/^0x[0-9a-fA-F]{0,64}$/)
const params = fc.array(fc.oneof(hexText, fc.boolean(), fc.integer(), fc.string(), fc.dictionary(fc.string(), hexText)))

test('calls have the same key if and only if they are equivalent', () => {
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

test('a cache returns what was stored or nothing, and stays within its memory limit', () => {
  const key = fc.integer({ min: 0, max: 20 }).map((n) => `key ${n}`)
  const step = fc.record({ key, length: fc.option(fc.integer({ min: 0, max: 3000 }), { nil: null }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const cache = new Cache(10_000)
      const put = new Map<string, string>()
      for (const { key, length } of steps) {
        const body = length === null ? null : `${key} `.repeat(length).slice(0, length)
        // Stored responses never change.
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

test('the least recently used entry is evicted first', () => {
  const cache = new Cache(3_000)
  for (const name of ['a', 'b', 'c']) cache.set(name, Buffer.alloc(700))
  cache.get('a')
  cache.set('d', Buffer.alloc(700))
  expect(['a', 'b', 'c', 'd'].filter((name) => cache.get(name))).toEqual(['a', 'c', 'd'])
})

function openOn(file: string) {
  const cache = openDiskCache(file, 100_000, log)
  if (!cache) throw new Error('The cache was not opened')
  return cache
}

test('the disk keeps responses across restarts within its limit, and a corrupt file only loses the cache', () => {
  const file = join(dir, 'answers.sqlite')
  const first = openOn(file)
  for (let i = 0; i < 500; i += 1) first.set(`key ${i}`, Buffer.from(`body ${i} `.repeat(50)))
  // Available although not written yet.
  expect(first.get('key 499')?.toString()).toBe('body 499 '.repeat(50))
  first.close()
  const second = openOn(file)
  const there = Array.from({ length: 500 }, (_, i) => second.get(`key ${i}`)).filter((body) => body !== null)
  expect(there.length).toBeGreaterThan(100)
  expect(there.reduce((sum, body) => sum + body.length, 0)).toBeLessThanOrEqual(100_000)
  expect(second.get('key 499')?.toString()).toBe('body 499 '.repeat(50))
  second.close()
  writeFileSync(file, 'not a database, but long enough to be taken for one '.repeat(50))
  const third = openOn(file)
  expect(third.get('key 499')).toBeNull()
  third.set('a', Buffer.from('b'))
  third.flush()
  expect(third.get('a')?.toString()).toBe('b')
  third.close()
})

test('gateways that start at the same time create and share one file', async () => {
  const openIt = `
    import { openDiskCache } from ${JSON.stringify(join(import.meta.dirname, 'disk-cache.ts'))}
    const [file, startMs] = process.argv.slice(-2)
    while (Date.now() < Number(startMs)) {}
    const warnings = []
    const cache = openDiskCache(file, 100_000, { warn: (_, text) => warnings.push(text) })
    cache?.set('of ' + process.pid, Buffer.from('x'))
    cache?.close()
    console.log(JSON.stringify(warnings))`
  for (let round = 0; round < 3; round++) {
    const file = join(dir, `shared-${round}.sqlite`)
    const startMs = String(Date.now() + 1_500)
    const gateways = Array.from({ length: 4 }, () =>
      promisify(execFile)(process.execPath, ['--input-type=module', '--eval', openIt, file, startMs]),
    )
    for (const { stdout } of await Promise.all(gateways)) expect(stdout).toBe('[]\n')
    const db = new DatabaseSync(file)
    expect(db.prepare('select count(*) as count from answers').get()).toEqual({ count: 4 })
    db.close()
  }
})

test('a cache whose file becomes unreadable returns nothing, and one that cannot be opened is skipped', () => {
  const file = join(dir, 'lost.sqlite')
  const cache = openOn(file)
  cache.set('a', Buffer.from('b'))
  cache.flush()
  const other = new DatabaseSync(file)
  other.exec('drop table answers')
  expect(cache.get('a')).toBeNull()
  other.close()
  cache.close()
  expect(openDiskCache(join(dir, 'lost.sqlite', 'below a file'), 100_000, log)).toBeNull()
})
