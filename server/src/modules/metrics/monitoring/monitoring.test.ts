import { monitoringQueries } from '@shoal/contract'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { hours, minutes } from '../../../clock.ts'
import type { TestOrg } from '../../../testing/index.ts'
import { makeVersion } from '../../versions/testing/make-version.ts'
import { setTag } from '../../versions/index.ts'
import { addIngressMinutes, bucketCount, bucketOf, latencyPercentiles } from '../index.ts'
import { startSampledApp, type SampledApp } from '../testing/sampled-app.ts'

const mib = 2 ** 20
const crash = { afterMs: 20_000, exitCode: 1 }
const processor = {
  sync: { fromBlock: 0, headBlock: 1e6, headBlocksPerSecond: 1, blocksPerSecond: 10 },
  ends: crash,
  endingRuns: 1,
}

let s: SampledApp
let other: TestOrg
let squidId: number
beforeAll(async () => {
  s = await startSampledApp()
  other = await s.t.make.org()
  const squid = await makeVersion(s.t.app, s.org, {
    name: 'mine',
    apis: [{ usage: { cpuCores: 0.5, memoryBytes: 100 * mib } }],
    processors: { eth: processor },
  })
  squidId = squid.id
  await setTag(s.t.app.db, squid, 'prod', s.clock.now())
  await makeVersion(s.t.app, other, { name: 'theirs', apis: [{}], processors: { bsc: processor } })
  await s.advance(minutes(10))
  await addIngressMinutes(s.t.app.database, [minute(squidId, { good: [10, 10, 10, 2000], bad: 3 })])
  await s.advance(15_000)
})
afterAll(() => s.close())

const now = () => s.clock.now().getTime()
const ago = (ms: number) => new Date(now() - ms).toISOString()

function minute(id: number, { good, bad }: { good: number[]; bad: number }) {
  const histogram = Array.from({ length: bucketCount }, () => 0)
  for (const ms of good) histogram[bucketOf(ms)] = (histogram[bucketOf(ms)] ?? 0) + 1
  const at = new Date(Math.floor(now() / 60_000) * 60_000)
  const counts = {
    successes: good.length,
    errors: bad,
    failures: 0,
    successBytes: good.length * 100,
    errorBytes: bad * 10,
  }
  return { squidId: id, minute: at, ...counts, histogram }
}

const scrape = async (org: TestOrg) => {
  const response = await s.t.http.inject({
    url: `/api/v1/orgs/${org.code}/monitoring/squids`,
    headers: { authorization: `token ${await s.t.make.token(org.admin)}` },
  })
  const names = [...response.body.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
  return { contentType: response.headers['content-type'], names, samples: parseText(response.body) }
}

type PromSample = { name: string; labels: Record<string, string>; value: number }

/** Parses Prometheus' documented text format. @throws Error on an invalid line */
function parseText(text: string): PromSample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, name, inner = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (!name || Number.isNaN(Number(value))) throw new Error(`Not a sample: ${line}`)
    const labels = [...inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)",?/g)].map(([, key = '', label = '']) => [key, label])
    return { name, labels: Object.fromEntries(labels) as Record<string, string>, value: Number(value) }
  })
}

test('all eight queries return series with the labels of the version, all with the same times', async () => {
  const nonEmptyQueries: string[] = []
  for (const query of monitoringQueries) {
    const series = await s.t.as(s.org.admin).monitoring.query({ params: { code: s.org.code, query } })
    if (series.length > 0) nonEmptyQueries.push(query)
    for (const { labels, values } of series) {
      expect(labels).toMatchObject({ squid_id: String(squidId), squid_name: 'mine@v1', squid_tags: 'prod' })
      expect(values.map(({ t }) => t)).toEqual(series[0]?.values.map(({ t }) => t))
    }
  }
  // The version has no database and no out-of-memory kills.
  expect(nonEmptyQueries).toEqual(
    monitoringQueries.filter((query) => query !== 'disk_utilization' && query !== 'oom_kills'),
  )
})

test('a query returns at most the requested number of points', async () => {
  const runQuery = (query: { from: string; maxPoints?: string }) =>
    s.t.as(s.org.admin).monitoring.query({ params: { code: s.org.code, query: 'cpu_utilization' }, query })
  for (const maxPoints of ['1', '7', '100']) {
    const [series] = await runQuery({ from: ago(hours(6)), maxPoints })
    expect(series?.values.length).toBeLessThanOrEqual(Number(maxPoints))
  }
  // A single point covers the whole range.
  const [onlySeries] = await runQuery({ from: ago(minutes(10)), maxPoints: '1' })
  expect(onlySeries?.values.map(({ v }) => v)).toEqual([expect.closeTo(50, 0)])
})

test('an unknown query returns 404, and an invalid time returns 400', async () => {
  const runQuery = (query: string, from?: string) =>
    s.t.as(s.org.admin).monitoring.query({ params: { code: s.org.code, query }, query: from ? { from } : {} })
  await expect(runQuery('cpu_utilisation')).rejects.toMatchObject({ status: 404 })
  await expect(runQuery('crashes', 'yesterday')).rejects.toMatchObject({ status: 400 })
  await expect(runQuery('crashes', ago(-hours(1)))).rejects.toMatchObject({ status: 400 })
})

test('requests and latencies of a version equal the counts of the gateway', async () => {
  const as = s.t.as(s.org.admin)
  const params = { code: s.org.code, squidId: String(squidId) }
  for (const from of [ago(hours(1)), ago(hours(24 * 3)), ago(hours(24 * 100))]) {
    const { metrics, timeGroup } = await as.metrics.getSquidIngress({ params, query: { from } })
    const sum = (value: (point: (typeof metrics)[number]) => string) =>
      metrics.reduce((total, point) => total + Number(value(point)), 0)
    expect([timeGroup, sum((p) => p.success.count), sum((p) => p.error.count)]).toEqual([timeGroup, 4, 3])
    expect([sum((p) => p.success.bytesSend), sum((p) => p.error.bytesSend)]).toEqual([400, 30])
    const nonEmpty = metrics.find((point) => point.success.count !== '0')
    expect(Math.abs((nonEmpty?.success.latency.p50 ?? 0) - 10) / 10).toBeLessThan(0.08)
    expect(Math.abs((nonEmpty?.success.latency.p99 ?? 0) - 2000) / 2000).toBeLessThan(0.08)
    expect(metrics.find((point) => point !== nonEmpty)?.success.latency.p95 ?? null).toBeNull()
  }
  expect(await as.metrics.getIngress({ params: { code: s.org.code } })).toEqual([
    { time: '2026-01-15T00:00:00.000Z', squidId, res: 'success', count: '4' },
    { time: '2026-01-15T00:00:00.000Z', squidId, res: 'error', count: '3' },
  ])
  const medians = await latencyPercentiles(s.t.app.db, [squidId], 0.5, now() - minutes(5))
  expect(medians.get(squidId)).toEqual({ ms: expect.closeTo(bucketValueOf10ms(), 6), requests: 4 })
})

/** Returns the latency that a histogram reports for ten milliseconds. */
const bucketValueOf10ms = () => 0.1 * 1.15 ** (bucketOf(10) - 0.5)

test('Prometheus receives all metrics of the organization, and none of another organization', async () => {
  const { contentType, samples } = await scrape(s.org)
  expect(contentType).toBe('text/plain; version=0.0.4; charset=utf-8')
  const valueOf = (name: string, labels: Record<string, string> = {}) =>
    samples
      .filter((one) => one.name === name && Object.entries(labels).every(([key, value]) => one.labels[key] === value))
      .map(({ value }) => value)
  expect(samples.every(({ labels }) => labels['squid_name'] === 'mine' && labels['squid_slot'] === 'v1')).toBe(true)
  expect(valueOf('shoal_container_cpu_cores', { container: 'api' })).toEqual([expect.closeTo(0.5, 6)])
  expect(valueOf('shoal_container_memory_bytes', { container: 'api' })).toEqual([100 * mib])
  expect(valueOf('shoal_container_memory_limit_bytes', { container: 'api', squid_tags: 'prod' })).toEqual([1024 * mib])
  expect(valueOf('shoal_container_crashes_total', { container: 'eth' })).toEqual([1])
  expect(valueOf('shoal_container_oom_kills_total', { container: 'eth' })).toEqual([0])
  const [sampled] = await s.rows<{ last_block: number; chain_height: number }>(
    `select last_block, chain_height from container_samples where squid_id = $1 and container = 'eth' order by at desc limit 1`,
    [squidId],
  )
  expect(valueOf('sqd_processor_last_block', { container: 'eth' })).toEqual([sampled?.last_block])
  expect(valueOf('sqd_processor_chain_height', { container: 'eth' })).toEqual([sampled?.chain_height])
  expect(valueOf('shoal_ingress_requests_total', { result: 'success' })).toEqual([4])
  expect(valueOf('shoal_ingress_requests_total', { result: 'error' })).toEqual([3])
  expect(valueOf('shoal_ingress_bytes_total', { result: 'success' })).toEqual([400])
  expect(valueOf('shoal_ingress_latency_seconds', { quantile: '0.5' })).toEqual([
    expect.closeTo(bucketValueOf10ms() / 1000, 6),
  ])
  const otherScrape = await scrape(other)
  expect(new Set(otherScrape.samples.map(({ labels }) => labels['squid_name']))).toEqual(new Set(['theirs']))
})

test('the lag in Prometheus equals the displayed lag, and is omitted if unknown', async () => {
  const lags = async () => {
    const { samples } = await scrape(s.org)
    const lagsOf = (name: string) =>
      samples.filter((one) => one.name === name).map(({ labels, value }) => [labels['container'], value])
    return { blocks: lagsOf('shoal_processor_lag_blocks'), seconds: lagsOf('shoal_processor_lag_seconds') }
  }
  const displayedLag = async () => {
    const squid = await s.t.as(s.org.admin).squids.get({ params: { code: s.org.code, reference: 'mine@v1' } })
    return squid.processors?.[0]?.lag
  }
  const ownLag = await displayedLag()
  expect(ownLag?.source).toBe('processor')
  // One block a second.
  expect(ownLag?.seconds).toBeCloseTo(ownLag?.blocks ?? 0, -2)
  expect(await lags()).toEqual({ blocks: [['eth', ownLag?.blocks]], seconds: [['eth', ownLag?.seconds]] })

  // First nothing is observed for a minute, then only the chain.
  s.advanceWithoutWorker(minutes(1))
  expect(await lags()).toEqual({ blocks: [], seconds: [] })
  await s.rows("update processor_states set chain = 'eth' where squid_id = $1", [squidId])
  await s.rows(
    `insert into chain_heads (chain, head_block, moved_at, block_rate, observed_at)
     values ('eth', 2000000, $1, '{"moves": 50, "msPerMove": 500, "blocksPerMove": 1}', $1)`,
    [new Date(now())],
  )
  const rpcLag = await displayedLag()
  expect(rpcLag).toMatchObject({ head: 2e6, source: 'rpc', seconds: Math.round((rpcLag?.blocks ?? 0) / 2) })
  expect(await lags()).toEqual({ blocks: [['eth', rpcLag?.blocks]], seconds: [['eth', rpcLag?.seconds]] })
})

test('the Grafana dashboard uses only exported metrics', async () => {
  const { names } = await scrape(s.org)
  const dashboard = readFileSync(new URL('../../../../../docs/grafana/organization.json', import.meta.url), 'utf8')
  const used = new Set(dashboard.match(/\b(shoal|sqd)_[a-z_]+\b/g))
  expect(used.size).toBeGreaterThan(10)
  expect([...used].filter((name) => !names.includes(name))).toEqual([])
})

test('every endpoint returns only the versions of the organization', async () => {
  const as = s.t.as(other.admin)
  for (const query of monitoringQueries) {
    const series = await as.monitoring.query({ params: { code: other.code, query } })
    expect(series.map(({ labels }) => labels.squid_name).filter((name) => name !== 'theirs@v1')).toEqual([])
  }
  const params = { code: other.code, squidId: String(squidId) }
  await expect(as.metrics.getSquidIngress({ params })).rejects.toMatchObject({ status: 404 })
  await expect(as.metrics.getSquidUsage({ params })).rejects.toMatchObject({ status: 404 })
  expect(await as.metrics.getIngress({ params: { code: other.code } })).toEqual([])
})
