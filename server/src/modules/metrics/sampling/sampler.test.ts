import type { MonitoringQuery, MonitoringSeries } from '@shoal/contract'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hours, minutes } from '../../../clock.ts'
import { dropDatabase, syncDatabase } from '../../databases/index.ts'
import type { SquidPlan } from '../../manifest/index.ts'
import { makeVersion, specOf, workloadOf } from '../../versions/testing/make-version.ts'
import { newestSampleAt } from '../index.ts'
import { selectNewest } from '../monitoring/current-store.ts'
import { gapMs } from './sample.ts'
import { sampleMs, startSampledApp, type SampledApp } from '../testing/sampled-app.ts'

const mib = 2 ** 20
const sync = { fromBlock: 0, headBlock: 10_000, headBlocksPerSecond: 1, blocksPerSecond: 100 }

let s: SampledApp
beforeEach(async () => void (s = await startSampledApp()))
afterEach(() => s.close())

const now = () => s.clock.now().getTime()
const as = () => s.t.as(s.org.admin)
const usageOf = async (squidId: number, lastMs: number) =>
  (
    await as().metrics.getSquidUsage({
      params: { code: s.org.code, squidId: String(squidId) },
      query: { from: new Date(now() - lastMs).toISOString() },
    })
  ).metrics

const seriesOf = (query: MonitoringQuery, lastMs = minutes(10), maxPoints = 12): Promise<MonitoringSeries[]> =>
  as().monitoring.query({
    params: { code: s.org.code, query },
    query: { from: new Date(now() - lastMs).toISOString(), maxPoints: String(maxPoints) },
  })
const valuesOf = async (query: MonitoringQuery, container: string, lastMs = minutes(10)) =>
  (await seriesOf(query, lastMs)).find(({ labels }) => labels.container === container)?.values.map(({ v }) => v)

/** Computes the expected chart values of each minute from the raw samples alone. */
async function chartFromSamples(squidId: number, container: string) {
  const samples = await s.rows<{
    at: Date
    seconds: number
    cpu: number | null
    memory: number | null
    blocks: number
  }>(
    `select at, observed_seconds as seconds, cpu_seconds as cpu, memory_byte_seconds as memory, blocks
     from container_samples where squid_id = $1 and container = $2 order by at`,
    [squidId, container],
  )
  const minutesOf = Map.groupBy(samples, ({ at }) => new Date(Math.floor(at.getTime() / 60_000) * 60_000).toISOString())
  return [...minutesOf].map(([ts, group]) => {
    const sum = (value: (sample: (typeof group)[number]) => number | null) =>
      group.reduce((total, sample) => total + (value(sample) ?? 0), 0)
    const seconds = sum((sample) => sample.seconds)
    return {
      ts,
      cores: sum((x) => x.cpu) / seconds,
      mb: sum((x) => x.memory) / seconds / mib,
      blocks: sum((x) => x.blocks),
    }
  })
}

test('charts match the samples, and the samples match the usage', async () => {
  const squid = await makeVersion(s.t.app, s.org, {
    apis: [{ usage: { cpuCores: 0.25, memoryBytes: 100 * mib } }, { usage: { cpuCores: 0.5, memoryBytes: 50 * mib } }],
    // The processor would use twice its CPU limit, so it is throttled half of the time.
    processors: { eth: { sync, usage: { cpuCores: 2, memoryBytes: 64 * mib, memoryGrowthBytesPerSecond: mib / 4 } } },
  })
  await s.advance(minutes(5))
  const points = await usageOf(squid.id, minutes(6))
  for (const { ts, cores, mb } of await chartFromSamples(squid.id, 'eth')) {
    const point = points.find((candidate) => candidate.ts === ts)
    expect(point?.processorCpuUsage).toBeCloseTo(cores, 9)
    expect(point?.processorMemUsageMb).toBeCloseTo(mb, 9)
  }
  expect(points.at(-2)).toMatchObject({
    apiCpuUsage: expect.closeTo(0.75, 6),
    apiMemUsageMb: expect.closeTo(150, 6),
    apiCpuRequested: expect.closeTo(2, 6),
    apiMemRequestedMb: 2048,
    processorCpuUsage: expect.closeTo(1, 6),
    dbCpuUsage: null,
    dbDiskUsedBytes: null,
  })
  expect((await valuesOf('cpu_utilization', 'eth'))?.at(-2)).toBeCloseTo(100, 4)
  expect((await valuesOf('cpu_trotting', 'eth'))?.at(-2)).toBeCloseTo(50, 4)
  expect((await valuesOf('cpu_trotting', 'api-2'))?.at(-2)).toBe(0)
  // Memory grows from 64 MiB by a quarter MiB per second.
  const secondsAtPeak = (now() - Date.parse('2026-01-15T12:00:05Z')) / 1000
  const [peak] = (await valuesOf('mem_utilization', 'eth'))?.slice(-1) ?? []
  expect(peak).toBeCloseTo((100 * (64 + secondsAtPeak / 4)) / 1024, 4)
})

test('samples contain the progress of a processor', async () => {
  const squid = await makeVersion(s.t.app, s.org, { processors: { eth: { sync } } })
  await s.advance(minutes(3))
  const samples = await s.rows<{ lastBlock: number; chainHeight: number }>(
    `select last_block::int as "lastBlock", chain_height::int as "chainHeight" from container_samples
     where squid_id = $1 and container = 'eth' and last_block is not null order by at`,
    [squid.id],
  )
  expect(samples).toHaveLength(minutes(3) / sampleMs)
  expect(samples.map(({ lastBlock }) => lastBlock)).toEqual(
    samples.map((_, i) => Math.min(1500 * (i + 1), 10_000 + 15 * (i + 1))),
  )
  expect(samples.at(-1)).toMatchObject({ lastBlock: 10_180, chainHeight: 10_180 })
  const heights = await valuesOf('indexed_height', 'eth')
  expect(heights?.findLast((v) => v !== null)).toBe(10_180)
  const blocks = await valuesOf('indexed_blocks', 'eth')
  // Blocks count from the first sample on, since nothing was observed before.
  expect(blocks?.reduce((sum: number, v) => sum + (v ?? 0), 0)).toBe(10_180 - 1500)
  expect(await selectNewest(s.t.app.db, [squid.id], s.clock.now().getTime() - gapMs)).toMatchObject([
    { container: 'eth', lastBlock: 10_180, chainHeight: 10_180, syncRatio: 1, etaSeconds: 0 },
  ])
})

test('a period without samples is a gap instead of zero, and its events are counted once', async () => {
  const crashing = { ends: { afterMs: 90_000, exitCode: 1 }, endingRuns: 3, usage: { cpuCores: 0.5, memoryBytes: mib } }
  const squid = await makeVersion(s.t.app, s.org, { processors: { eth: { ...crashing, sync } } })
  await s.advance(minutes(1))
  // The processor crashes while no worker runs; the next worker knows only what is in the database.
  s.advanceWithoutWorker(minutes(4))
  await s.replaceWorker()
  await s.advance(minutes(4))
  const [observation] = await s.runtime.observe()
  const points = await usageOf(squid.id, minutes(9))
  const gap = points.slice(2, 5)
  expect(gap.map(({ processorCpuUsage, processorMemUsageMb }) => [processorCpuUsage, processorMemUsageMb])).toEqual(
    gap.map(() => [null, null]),
  )
  expect((await valuesOf('mem_utilization', 'eth', minutes(9)))?.slice(2, 5)).toEqual([null, null, null])
  const crashes = await valuesOf('crashes', 'eth', minutes(9))
  expect(crashes?.slice(2, 5)).toEqual([null, null, null])
  expect(crashes?.reduce((sum: number, v) => sum + (v ?? 0), 0)).toBe(observation?.run?.ordinal)
  expect(observation?.run?.ordinal).toBe(3)
  // A new worker without a gap does not change the sums.
  const before = await s.rows('select sum(crashes) as crashes, sum(cpu_seconds) as cpu from container_samples')
  await s.replaceWorker()
  await s.advance(sampleMs)
  const [sums] = await s.rows<{ crashes: string; cpu: number }>(
    'select sum(crashes) as crashes, sum(cpu_seconds) as cpu from container_samples',
  )
  expect(sums).toEqual({ crashes: (before[0] as { crashes: string }).crashes, cpu: expect.any(Number) })
  expect((sums?.cpu ?? 0) - (before[0] as { cpu: number }).cpu).toBeCloseTo(7.5, 6)
})

test('out-of-memory kills are counted, and returned only for containers that had any', async () => {
  await makeVersion(s.t.app, s.org, {
    apis: [{}],
    processors: { eth: { ends: { afterMs: 20_000, outOfMemory: true }, endingRuns: 2, sync } },
  })
  await s.advance(minutes(3))
  const series = await seriesOf('oom_kills')
  expect(series.map(({ labels }) => labels.container)).toEqual(['eth'])
  expect(series[0]?.values.reduce((sum, { v }) => sum + (v ?? 0), 0)).toBe(2)
  expect((await seriesOf('crashes')).map(({ labels }) => labels.container)).toEqual(['eth'])
})

test('the usage of generations that run at the same time is added up', async () => {
  const squid = await makeVersion(s.t.app, s.org, { processors: { eth: { sync } } })
  await s.advance(minutes(1))
  const api = specOf('api', 4350, { usage: { cpuCores: 0.25, memoryBytes: 10 * mib } })
  await s.runtime.apply(workloadOf(squid, [api]))
  await s.runtime.apply(workloadOf({ ...squid, generation: 2 }, [api]))
  await s.advance(minutes(2))
  expect((await usageOf(squid.id, minutes(2))).at(-2)).toMatchObject({
    apiCpuUsage: expect.closeTo(0.5, 6),
    apiMemUsageMb: expect.closeTo(20, 6),
    processorCpuUsage: null,
  })
})

test('a processor of a new generation continues counting from the last observation of the previous one', async () => {
  const squid = await makeVersion(s.t.app, s.org, { processors: { eth: { sync: { ...sync, stallsAtBlock: 3000 } } } })
  await s.advance(minutes(1))
  await s.runtime.remove(`${squid.id}.1`)
  const continuing = { sync: { ...sync, fromBlock: 3000, stallsAtBlock: 4000 } }
  await s.runtime.apply(workloadOf({ ...squid, generation: 2 }, [specOf('eth', 3000, continuing)]))
  await s.advance(minutes(1))
  const blocks = await valuesOf('indexed_blocks', 'eth')
  expect(blocks?.reduce((sum: number, v) => sum + (v ?? 0), 0)).toBe(4000 - 1500)
})

test('the size of a database is sampled, even while the version is hibernated', async () => {
  const squid = await makeVersion(s.t.app, s.org)
  await syncDatabase(s.t.app, { squidId: squid.id, plan: planWith(2 ** 30), isPlayground: false })
  try {
    await s.rows('update squid_databases set used_bytes = $1 where squid_id = $2', [2 ** 29, squid.id])
    await s.rows(`update squids set desired_state = 'hibernated' where id = $1`, [squid.id])
    await s.runtime.remove(`${squid.id}.1`)
    await s.advance(minutes(2))
    const [point] = (await usageOf(squid.id, minutes(3))).slice(-2)
    expect(point).toMatchObject({ dbDiskUsedBytes: 2 ** 29, dbDiskRequestedBytes: 2 ** 30, apiCpuUsage: null })
    // The processes of the test's Postgres are visible only on Linux.
    expect(point?.dbCpuUsage).toEqual(process.platform === 'linux' ? expect.any(Number) : null)
    expect((await valuesOf('disk_utilization', 'db'))?.findLast((v) => v !== null)).toBe(50)
    for (const query of ['cpu_utilization', 'mem_utilization'] as const) {
      const knownValues = (await valuesOf(query, 'db'))?.filter((v) => v !== null) ?? []
      expect([query, knownValues.length > 0]).toEqual([query, process.platform === 'linux'])
    }
    // Unknown values are not shown as 100 %.
    expect(await valuesOf('cpu_trotting', 'db')).toBeUndefined()
  } finally {
    await dropDatabase(s.t.app, squid.id)
  }
})

const planWith = (totalBytes: number): SquidPlan => ({
  slot: null,
  description: null,
  isDedicated: true,
  init: null,
  api: null,
  processors: [],
  processorProfile: 'small',
  postgres: {
    version: null,
    profile: 'small',
    storage: '',
    totalBytes,
    isAutoresizeRequested: false,
    config: {},
    maxExternalConnections: null,
  },
  rpc: [],
  hasura: null,
  hasNeon: false,
  build: { nodeVersion: '20', packageManager: 'auto', installCommand: null, buildCommand: null },
})

test('the time of the newest sample advances with each sample', async () => {
  await makeVersion(s.t.app, s.org, {})
  await s.advance(minutes(1))
  expect(await newestSampleAt(s.t.app.db)).toEqual(s.clock.now())
  await s.advance(sampleMs)
  expect(await newestSampleAt(s.t.app.db)).toEqual(s.clock.now())
})

test('hours contain the time for which each container was observed', async () => {
  const squid = await makeVersion(s.t.app, s.org, { apis: [{ usage: { cpuCores: 0.1, memoryBytes: mib } }] })
  await s.advance(hours(1))
  const observed = await s.rows<{ observedSeconds: number; cpuSeconds: number | null }>(
    `select observed_seconds as "observedSeconds", cpu_seconds as "cpuSeconds" from container_hours where squid_id = $1`,
    [squid.id],
  )
  const observedSeconds = observed.reduce((sum, hour) => sum + hour.observedSeconds, 0)
  expect(observedSeconds).toBe(3600 - 15)
  expect(observed.reduce((sum, hour) => sum + (hour.cpuSeconds ?? 0), 0)).toBeCloseTo(observedSeconds / 10, 3)
})
