import { logLevels, type LogLevel } from '@shoal/contract'
import type { LogLine } from '@shoal/runtime'
import * as fc from 'fast-check'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../../testing/index.ts'
import { filterOf, matches } from '../filter.ts'
import { levelNumber } from '../levels.ts'
import { linesPerBlock } from '../ingest/blocks.ts'
import { createDrops } from '../ingest/drops.ts'
import { createLimiter } from '../ingest/limiter.ts'
import { createWriter } from '../ingest/writer.ts'
import type { Direction, LinePosition, StoredLine } from '../lines-store.ts'
import { readHistory } from './read-history.ts'

let t: TestApp
let client: Client
beforeAll(async () => {
  t = await startTestApp()
  client = new Client(t.app.database.url)
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await t.close()
})

const day = Date.UTC(2026, 0, 14)
const words = ['Transfer', 'block', 'привет', '0xDEADbeef01', '100%', 'a_b', 'slow query', '€', 'x']
const containers = ['api', 'api-2', 'processor', 'eth', 'init']

/** Generates lines of a few containers, written during two days and read afterwards. */
const rawLines = fc.array(
  fc.record({
    container: fc.constantFrom(...containers),
    level: fc.constantFrom(1, 2, 2, 2, 3, 4),
    minute: fc.integer({ min: 0, max: 2879 }),
    words: fc.array(fc.constantFrom(...words), { minLength: 1, maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 60 },
)

const queryArbitrary = fc.record({
  search: fc.constantFrom('', '', 'transfer', 'ПРИВЕТ', 'deadbeef', '100%', 'a_b', '€', 'LOW Q', 'nowhere', 'x', 'n7'),
  level: fc.subarray(['ERROR', 'WARNING', 'INFO', 'DEBUG']),
  container: fc.subarray(['api', 'eth', 'processor', 'query-node']),
  direction: fc.constantFrom<Direction>('asc', 'desc'),
  fromMinute: fc.option(fc.integer({ min: 0, max: 2879 })),
  toMinute: fc.option(fc.integer({ min: 0, max: 2879 })),
  limit: fc.constantFrom(1, 3, 50),
})

let lastSquidId = 0
const minuteMs = (minute: number) => day + minute * 60_000

/** Creates a writer without limits and redaction. */
const createUnlimitedWriter = () => {
  const own = { bytesPerSecond: Infinity, linesPerSecond: Infinity, bytesPerDay: Infinity }
  const limits = { ...own, orgBytesPerSecond: Infinity, orgLinesPerSecond: Infinity, orgBytesPerDay: Infinity }
  const limiter = createLimiter(limits, t.app.clock, { versions: new Map(), orgs: new Map() })
  return createWriter(client, {
    db: t.app.db,
    redactors: async () => () => (text) => text,
    oldestAtMs: () => 0,
    clock: t.app.clock,
    limiter,
    drops: createDrops({ pending: [], quotaReportedOn: new Map() }, limiter),
  })
}

/** Writes the batches to a new version, repeatedly, until there are several blocks. Returns the version and all stored lines. */
async function ingest(batches: (typeof rawLines extends fc.Arbitrary<infer T> ? T : never)[]) {
  const squidId = ++lastSquidId
  const writer = createUnlimitedWriter()
  let lineCount = 0
  for (let batch = 0; lineCount < 2.5 * linesPerBlock; batch++) {
    const lines = batches.flat().map((raw): LogLine => {
      const record = { level: raw.level, time: minuteMs(raw.minute), ns: `n${lineCount++}`, msg: raw.words.join(' ') }
      const readAt = new Date(minuteMs(2880 + batch))
      return {
        workload: `${squidId}.1`,
        container: raw.container,
        stream: 'stdout',
        text: JSON.stringify(record),
        readAt,
      }
    })
    await writer.write({ lines, dropped: [], cursor: {} })
  }
  const { rows } = await client.query<StoredLine>(
    'select seq, (extract(epoch from at) * 1000)::float8 as "atMs", level, container, ns, message, fields from log_lines where squid_id = $1',
    [squidId],
  )
  expect(rows).toHaveLength(lineCount)
  return { squidId, rows }
}

test('pages contain the same lines, in the same order, as a filter over all lines', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(rawLines, { minLength: 1, maxLength: 3 }),
      fc.array(queryArbitrary, { minLength: 6, maxLength: 12 }),
      async (batches, queries) => {
        const { squidId, rows } = await ingest(batches)
        for (const query of queries) {
          const { direction, limit } = query
          const fromMs = query.fromMinute === null ? null : minuteMs(query.fromMinute)
          const toMs = query.toMinute === null ? null : minuteMs(query.toMinute)
          const filter = filterOf(query)
          const expected = rows
            .filter((line) => matches(filter, line) && line.atMs >= (fromMs ?? 0) && line.atMs <= (toMs ?? Infinity))
            .sort((a, b) => (a.atMs - b.atMs || a.seq - b.seq) * (direction === 'asc' ? 1 : -1))
            .map((line) => line.seq)
          const found: number[] = []
          let after: LinePosition | null = null
          // A few pages are enough: when few lines match, they include the last page.
          for (let pages = 0; pages < 5; pages++) {
            const signal = new AbortController().signal
            const page = await readHistory(t.app.db, { squidId, fromMs, toMs, filter, direction, after, limit, signal })
            found.push(...page.lines.map((line) => line.seq))
            after = page.next
            if (!after) break
            expect(page.lines).toHaveLength(limit)
          }
          expect(found).toEqual(expected.slice(0, found.length))
          expect(after !== null).toBe(expected.length > found.length)
        }
      },
    ),
    { numRuns: 12, endOnFailure: true },
  )
}, 120_000)

test.each<Direction>(['asc', 'desc'])(
  'pages of long lines are of limited size, and have all lines (%s)',
  async (direction) => {
    const squidId = ++lastSquidId
    const writer = createUnlimitedWriter()
    const lineCount = 400
    for (let from = 0; from < lineCount; from += 100) {
      const lines = Array.from({ length: 100 }, (_, i): LogLine => {
        const text = JSON.stringify({ ns: 'x'.repeat(20_000), msg: 'y'.repeat(20_000), more: '€'.repeat(6_000) })
        return { workload: `${squidId}.1`, container: 'eth', stream: 'stdout', text, readAt: new Date(day + from + i) }
      })
      await writer.write({ lines, dropped: [], cursor: {} })
    }
    const query = { squidId, fromMs: null, toMs: null, filter: filterOf({}), direction, limit: 10_000 }
    const found: number[] = []
    let after: LinePosition | null = null
    let pages = 0
    do {
      const page = await readHistory(t.app.db, { ...query, after, signal: new AbortController().signal })
      expect(Buffer.byteLength(JSON.stringify(page.lines))).toBeLessThan(10e6)
      found.push(...page.lines.map(({ seq }) => seq))
      after = page.next
      pages++
    } while (after)
    const all = Array.from({ length: lineCount }, (_, i) => i + 1)
    expect(found).toEqual(direction === 'asc' ? all : all.toReversed())
    expect(pages).toBe(3)
  },
)

describe('a filter', () => {
  test('matches the level, and text in any field of a JSON line', async () => {
    const squidId = ++lastSquidId
    const writer = createUnlimitedWriter()
    const texts = [
      '{"level":4,"msg":"failed","url":"https://rpc.example.com"}',
      'plain words',
      '{"level":5,"msg":"crashed"}',
    ]
    const lines = texts.map((text): LogLine => ({
      workload: `${squidId}.1`,
      container: 'eth',
      stream: 'stdout',
      text,
      readAt: new Date(day),
    }))
    await writer.write({ lines, dropped: [], cursor: {} })
    const search = async (query: Parameters<typeof filterOf>[0]) => {
      const signal = new AbortController().signal
      const page = await readHistory(t.app.db, {
        squidId,
        fromMs: null,
        toMs: null,
        filter: filterOf(query),
        direction: 'desc',
        after: null,
        limit: 10,
        signal,
      })
      return page.lines.map((line) => line.message)
    }
    expect(await search({ search: 'RPC.example' })).toEqual(['failed'])
    expect(await search({ level: ['ERROR'] })).toEqual(['crashed', 'failed'])
    expect(await search({ level: ['FATAL'] })).toEqual(['crashed'])
    expect(await search({ level: ['TELEGRAM'] })).toEqual([])
    expect(await search({ container: ['processor'], search: 'WORDS' })).toEqual(['plain words'])
    expect(await search({ container: ['api'] })).toEqual([])
    const levels: LogLevel[] = ['ERROR', 'FATAL']
    expect(levels.map(levelNumber)).toEqual(levels.map((level) => logLevels.indexOf(level)))
  })

  test('finds nothing in a version that never logged', async () => {
    const signal = new AbortController().signal
    const query = { squidId: 999_999, fromMs: null, toMs: null, after: null, limit: 10, signal }
    const page = await readHistory(t.app.db, { ...query, filter: filterOf({}), direction: 'desc' })
    expect(page).toEqual({ lines: [], next: null, lastSeq: 0 })
  })
})
