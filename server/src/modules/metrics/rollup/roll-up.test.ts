import fc from 'fast-check'
import type { PoolClient } from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { dayOf, days, hours, minutes } from '../../../clock.ts'
import { ensureDayPartition } from '../../../db/day-partitions.ts'
import { startTestApp, type TestApp } from '../../../testing/index.ts'
import { addIngressMinutes, bucketCount, type IngressMinute } from '../index.ts'
import { applyRetention } from './retention.ts'
import { rollUp } from './roll-up.ts'

let t: TestApp
let client: PoolClient
beforeEach(async () => {
  t = await startTestApp()
  client = await t.app.database.pool.connect()
  // Buckets are in UTC, without daylight saving, regardless of the time zone of Postgres.
  await client.query(`set timezone to 'Europe/Zurich'`)
})
afterEach(async () => {
  client.release()
  await t.close()
})

const rows = async <Row extends object>(text: string, values: unknown[] = []) =>
  (await client.query<Row>(text, values)).rows

const isoPrefixLengths = { hours: 13, days: 10, months: 7 } as const
type Unit = keyof typeof isoPrefixLengths
/** Returns the UTC bucket of a time, as a prefix of the time's ISO text. */
const bucketOf = (ms: number, unit: Unit) => new Date(ms).toISOString().slice(0, isoPrefixLengths[unit])

/** Computes sums by time bucket and version, without a database. */
function sumByBucket<T extends { squidId: number; ms: number }>(items: T[], unit: Unit, sum: (items: T[]) => object) {
  const groups = Map.groupBy(items, (item) => `${item.squidId} ${bucketOf(item.ms, unit)}`)
  return Object.fromEntries([...groups].map(([key, group]) => [key, sum(group)]))
}

const byBucket = (storedRows: ({ squidId: number; at: Date } & object)[], unit: Unit) =>
  Object.fromEntries(storedRows.map(({ squidId, at, ...row }) => [`${squidId} ${bucketOf(at.getTime(), unit)}`, row]))

const startTimes = [
  '2026-01-31T23:30Z',
  '2026-02-28T23:00Z',
  '2026-03-29T00:30Z',
  '2026-10-25T00:15Z',
  '2026-12-31T23:50Z',
]

test('rolled-up requests equal an independent sum, in any order in which gateways send their counts', async () => {
  const count = fc.record({
    squidId: fc.integer({ min: 1, max: 3 }),
    minute: fc.integer({ min: 0, max: 60 * 40 }),
    good: fc.integer({ min: 0, max: 9 }),
    bad: fc.integer({ min: 0, max: 9 }),
    bucket: fc.integer({ min: 0, max: bucketCount - 1 }),
  })
  const plan = fc.record({
    start: fc.constantFrom(...startTimes),
    // Added in several batches, with a roll-up after each; some counts arrive very late.
    batches: fc.array(fc.array(count, { maxLength: 12 }), { minLength: 1, maxLength: 5 }),
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ start, batches }) => {
      await client.query('truncate ingress_minutes, ingress_hours, ingress_days, ingress_months, metric_rollups')
      const startMs = Date.parse(start.replace('Z', ':00Z'))
      const clock = { now: () => new Date(startMs + days(2)) }
      const app = { ...t.app, clock }
      for (const batch of batches) {
        await addIngressMinutes(t.app.database, onePerMinute(batch.map((one) => minuteOf(startMs, one))))
        await rollUp(app, client)
      }
      const all = batches.flat().map((one) => ({ ...minuteOf(startMs, one), ms: startMs + minutes(one.minute) }))
      for (const unit of ['hours', 'days', 'months'] as const) {
        const storedRows = await rows<{ squidId: number; at: Date }>(
          `select squid_id as "squidId", at, successes, errors, success_bytes as "successBytes", to_json(histogram) as histogram from ingress_${unit}`,
        )
        expect(byBucket(storedRows, unit)).toEqual(sumByBucket(all, unit, sumOfMinutes))
      }
    }),
    { numRuns: 25 },
  )
})

function minuteOf(
  startMs: number,
  one: { squidId: number; minute: number; good: number; bad: number; bucket: number },
) {
  const histogram = Array.from({ length: bucketCount }, (_, i) => (i === one.bucket ? one.good : 0))
  const at = Math.floor((startMs + minutes(one.minute)) / 60_000) * 60_000
  const { squidId, good: successes, bad: errors } = one
  return {
    squidId,
    minute: new Date(at),
    successes,
    errors,
    failures: 0,
    successBytes: successes * 7,
    errorBytes: errors,
    histogram,
  }
}

/** Merges the counts of each minute, as a gateway does before it sends them. */
function onePerMinute(all: IngressMinute[]): IngressMinute[] {
  const groups = Map.groupBy(all, ({ squidId, minute }) => `${squidId} ${minute.getTime()}`)
  return [...groups.values()].flatMap((group) => {
    const [first] = group
    return first ? [{ ...first, ...sumOfMinutes(group), errorBytes: 0 }] : []
  })
}

function sumOfMinutes(group: IngressMinute[]) {
  const sum = (value: (one: IngressMinute) => number) => group.reduce((total, one) => total + value(one), 0)
  return {
    successes: sum((one) => one.successes),
    errors: sum((one) => one.errors),
    successBytes: sum((one) => one.successBytes),
    histogram: Array.from({ length: bucketCount }, (_, i) => sum((one) => one.histogram[i] ?? 0)),
  }
}

type StoredSample = {
  squidId: number
  ms: number
  cpu: number | null
  memory: number
  crashes: number
  block: number | null
}

test('rolled-up samples equal an independent sum, for any times of the roll-ups', async () => {
  const sample = fc.record({
    squidId: fc.integer({ min: 1, max: 2 }),
    second: fc.integer({ min: 0, max: 3600 * 30 }),
    cpu: fc.option(fc.integer({ min: 0, max: 15 })),
    memory: fc.integer({ min: 0, max: 1000 }),
    crashes: fc.integer({ min: 0, max: 2 }),
    block: fc.option(fc.integer({ min: 0, max: 1e9 })),
  })
  const plan = fc.record({
    start: fc.constantFrom(...startTimes),
    batches: fc.array(fc.array(sample, { maxLength: 25 }), { maxLength: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(plan, async ({ start, batches }) => {
      await client.query(
        'truncate container_samples, container_minutes, container_hours, container_days, container_months, metric_rollups',
      )
      const startMs = Date.parse(start.replace('Z', ':00Z'))
      const stored = new Map<string, StoredSample>()
      for (const { second, ...one } of batches.flat())
        stored.set(`${one.squidId} ${second}`, { ...one, ms: startMs + second * 1000 })
      // A sampler writes samples in order of time, and rolls up in between.
      const all = [...stored.values()].toSorted((a, b) => a.ms - b.ms)
      const rollUpAt = (ms: number) => rollUp({ ...t.app, clock: { now: () => new Date(ms) } }, client)
      let rolledUpMs = startMs
      for (const [i, one] of all.entries()) {
        await insertSample(one)
        const next = all[i + 1]
        // Samples are kept for the current day and the day before, so a roll-up much later would lose data.
        if (i % 10 < 9 && next && next.ms - rolledUpMs < hours(6)) continue
        await rollUpAt(one.ms)
        rolledUpMs = one.ms
      }
      for (const unit of ['hours', 'days', 'months'] as const) {
        const storedRows = await rows<{ squidId: number; at: Date }>(
          `select squid_id as "squidId", at, observed_seconds as seconds, cpu_seconds as cpu, memory_peak_bytes as peak, crashes, last_block as block
           from container_${unit}`,
        )
        expect(byBucket(storedRows, unit)).toEqual(sumByBucket(all, unit, sumOfSamples))
      }
    }),
    // Shrinking a counterexample would exceed the time limit of the test.
    { numRuns: 25, endOnFailure: true },
  )
})

async function insertSample({ squidId, ms, cpu, memory, crashes, block }: StoredSample): Promise<void> {
  await ensureDayPartition(client, 'container_samples', dayOf(ms))
  await client.query(
    `insert into container_samples (squid_id, at, container, observed_seconds, cpu_seconds, memory_peak_bytes, oom_kills, crashes, last_block)
     values ($1, to_timestamp($2::float8 / 1000), 'eth', 15, $3, $4, 0, $5, $6)`,
    [squidId, ms, cpu, memory, crashes, block],
  )
}

function sumOfSamples(group: StoredSample[]) {
  const knownCpu = group.flatMap(({ cpu }) => (cpu === null ? [] : [cpu]))
  return {
    seconds: 15 * group.length,
    cpu: knownCpu.length === 0 ? null : knownCpu.reduce((total, cpu) => total + cpu, 0),
    peak: Math.max(...group.map(({ memory }) => memory)),
    crashes: group.reduce((total, one) => total + one.crashes, 0),
    block: group.findLast(({ block }) => block !== null)?.block ?? null,
  }
}

test('a roll-up reads only the samples since the last one, not all samples of the day', async () => {
  const endMs = t.clock.now().getTime()
  const day = new Date(endMs).toISOString().slice(0, 10)
  await ensureDayPartition(client, 'container_samples', day)
  await client.query(
    `insert into container_samples (squid_id, at, container, observed_seconds, oom_kills, crashes)
     select squid_id, to_timestamp($1::float8 / 1000) - (40 - sample) * interval '15 seconds', 'api', 15, 0, 0
     from generate_series(1, 40) sample, generate_series(1, 4000) squid_id order by sample`,
    [endMs],
  )
  await rollUp(t.app, client)
  await client.query('vacuum analyze container_samples')
  const scans = async () => {
    await client.query('select pg_stat_force_next_flush()')
    const [row] = await rows<{ count: number }>(
      `select sum(seq_scan)::int as count from pg_stat_user_tables where relname like 'container_samples_%'`,
    )
    return row?.count
  }
  const before = await scans()
  t.clock.advance(minutes(1))
  await rollUp(t.app, client)
  expect(await scans()).toBe(before)
})

test('each level expires after its retention', async () => {
  const at = t.clock.now().getTime()
  const histogram = Array.from({ length: bucketCount }, () => 1)
  const minute = { squidId: 1, successes: 100, errors: 5, failures: 0, successBytes: 1000, errorBytes: 50, histogram }
  await addIngressMinutes(t.app.database, [{ ...minute, minute: new Date(at) }])
  await applyRetention(t.app, client)
  await insertSample({ squidId: 1, ms: at, cpu: 1, memory: 1, crashes: 1, block: 1 })
  const nonEmptyTables = async () => {
    const names = ['container_samples', 'container_minutes', 'ingress_minutes', 'container_hours', 'ingress_hours']
    const all = [...names, 'container_days', 'ingress_days', 'container_months', 'ingress_months']
    const nonEmpty: string[] = []
    for (const name of all) if ((await rows(`select 1 from ${name} limit 1`)).length > 0) nonEmpty.push(name)
    return nonEmpty
  }
  const nonEmptyTablesAfter = async (ms: number) => {
    t.clock.advance(ms)
    await rollUp(t.app, client)
    await applyRetention(t.app, client)
    return nonEmptyTables()
  }
  const coarse = ['container_days', 'ingress_days', 'container_months', 'ingress_months']
  expect(await nonEmptyTablesAfter(minutes(5))).toHaveLength(9)
  expect(await nonEmptyTablesAfter(days(3))).not.toContain('container_samples')
  expect(await nonEmptyTablesAfter(days(6))).toEqual(['container_hours', 'ingress_hours', ...coarse])
  expect(await nonEmptyTablesAfter(days(100))).toEqual(coarse)
  expect(await nonEmptyTablesAfter(days(800))).toEqual(['container_months', 'ingress_months'])
  // Expiry does not change the levels that were computed from the expired data.
  expect(await rows('select successes, errors from ingress_months')).toEqual([{ successes: 100, errors: 5 }])
  expect(await rows('select crashes from container_months')).toEqual([{ crashes: 1 }])
  expect(await nonEmptyTablesAfter(days(3660))).toEqual([])
})

test('late counts of a gateway are included as long as minutes are kept', async () => {
  await applyRetention(t.app, client)
  const now = t.clock.now().getTime()
  const histogram = Array.from({ length: bucketCount }, () => 0)
  const minuteAgo = (agoMs: number): IngressMinute => ({
    squidId: 1,
    minute: new Date(now - agoMs),
    successes: 1,
    errors: 0,
    failures: 0,
    successBytes: 1,
    errorBytes: 0,
    histogram,
  })
  await addIngressMinutes(t.app.database, [minuteAgo(0)])
  await rollUp(t.app, client)
  for (const agoMs of [hours(5), days(1), days(5)]) {
    await addIngressMinutes(t.app.database, [minuteAgo(agoMs)])
    await rollUp(t.app, client)
  }
  expect(await rows('select sum(successes)::int as sum from ingress_days')).toEqual([{ sum: 4 }])
  expect(await rows('select count(*)::int as count from ingress_days')).toEqual([{ count: 3 }])
})
