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
  const normalized = (value: unknown) =>
    JSON.stringify(value, (_, v: unknown) => (typeof v === 'string' && /^0x[0-9a-f]*$/i.test(v) ? v.toLowerCase() : v))
  fc.assert(
    fc.property(
      params,
      params,
      fc.constantFrom('eth_call', 'eth_getLogs'),
      fc.constantFrom('a', 'b'),
      (paramsA, paramsB, method, chain) => {
        expect(keyOf('a', 'eth_call', paramsA) === keyOf(chain, method, paramsB)).toBe(
          chain === 'a' && method === 'eth_call' && normalized(paramsA) === normalized(paramsB),
        )
        expect(keyOf('a', 'eth_call', paramsA)).toBe(keyOf('a', 'eth_call', JSON.parse(normalized(paramsA))))
      },
    ),
    { numRuns: 500 },
  )
})

test('a cache returns the stored response or nothing, and stays within its memory limit', () => {
  const key = fc.integer({ min: 0, max: 20 }).map((n) => `key ${n}`)
  const step = fc.record({ key, length: fc.option(fc.integer({ min: 0, max: 3000 }), { nil: null }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const cache = new Cache(10_000)
      const stored = new Map<string, string>()
      for (const { key, length } of steps) {
        const body = length === null ? null : `${key} `.repeat(length).slice(0, length)
        // A stored response is never replaced by another one.
        const found = cache.get(key)?.toString()
        expect(found ?? stored.get(key)).toBe(stored.get(key))
        if (body !== null) {
          cache.set(key, Buffer.from(body))
          stored.set(key, found ?? body)
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

function openCache(file: string) {
  const cache = openDiskCache(file, 100_000, log)
  if (!cache) throw new Error('The cache was not opened')
  return cache
}

test('the disk cache survives restarts and stays within its limit, and a corrupt file is recreated', () => {
  const file = join(dir, 'responses.sqlite')
  const first = openCache(file)
  for (let i = 0; i < 500; i += 1) first.set(`key ${i}`, Buffer.from(`body ${i} `.repeat(50)))
  // The entry is available although it is not written yet.
  expect(first.get('key 499')?.toString()).toBe('body 499 '.repeat(50))
  first.close()
  const second = openCache(file)
  const remaining = Array.from({ length: 500 }, (_, i) => second.get(`key ${i}`)).filter((body) => body !== null)
  expect(remaining.length).toBeGreaterThan(100)
  expect(remaining.reduce((sum, body) => sum + body.length, 0)).toBeLessThanOrEqual(100_000)
  expect(second.get('key 499')?.toString()).toBe('body 499 '.repeat(50))
  second.close()
  writeFileSync(file, 'not a database, but long enough to be mistaken for one '.repeat(50))
  const third = openCache(file)
  expect(third.get('key 499')).toBeNull()
  third.set('a', Buffer.from('b'))
  third.flush()
  expect(third.get('a')?.toString()).toBe('b')
  third.close()
})

test('gateways that open and close one file at the same time create it once and share it', async () => {
  // Enough rounds to fail in most runs when one gateway removes SQLite's files while another one opens the database.
  const rounds = 250
  const script = `
    import { openDiskCache } from ${JSON.stringify(join(import.meta.dirname, 'disk-cache.ts'))}
    const [dir, startMs] = process.argv.slice(-2)
    const warnings = []
    const log = { warn: ({ error }, text) => warnings.push([error, text]) }
    for (let round = 0; round < ${rounds}; round++) {
      while (Date.now() < Number(startMs) + round * 10) {}
      const cache = openDiskCache(dir + '/shared-' + round + '.sqlite', 100_000, log)
      cache?.set('key ' + process.pid, Buffer.from('x'))
      cache?.close()
    }
    console.log(JSON.stringify(warnings))`
  const startMs = String(Date.now() + 1_500)
  const gateways = Array.from({ length: 4 }, () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script, dir, startMs]),
  )
  for (const { stdout } of await Promise.all(gateways)) expect(stdout).toBe('[]\n')
  for (let round = 0; round < rounds; round++) {
    const db = new DatabaseSync(join(dir, `shared-${round}.sqlite`))
    expect(db.prepare('select count(*) as count from answers').get()).toEqual({ count: 4 })
    db.close()
  }
})

test('a cache whose file becomes unreadable returns nothing, and a file that cannot be opened is not used', () => {
  const file = join(dir, 'lost.sqlite')
  const cache = openCache(file)
  cache.set('a', Buffer.from('b'))
  cache.flush()
  const database = new DatabaseSync(file)
  database.exec('drop table answers')
  expect(cache.get('a')).toBeNull()
  database.close()
  cache.close()
  expect(openDiskCache(join(dir, 'lost.sqlite', 'below a file'), 100_000, log)).toBeNull()
})
