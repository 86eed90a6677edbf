import type { IngressCount, IngressPoint, TimeGroup } from '@shoal/contract'
import type { App } from '../../../app.ts'
import { bucketCount, percentile } from './histogram.ts'
import { selectDailyCounts, selectIngress, type IngressBucket } from './read-ingress-store.ts'
import { createRetentionCheck } from '../levels.ts'
import { bucketsOf, timeGroupOf, type Range } from '../range.ts'

/** Returns the requests to every version of an organization by day (UTC), without empty days. */
export async function dailyCounts({ db }: Pick<App, 'db'>, orgId: number, range: Range): Promise<IngressCount[]> {
  const days = await selectDailyCounts(db, orgId, range)
  return days.flatMap(({ atMs, squidIds, successes, errors }) => {
    const time = new Date(atMs).toISOString()
    return squidIds.flatMap((squidId, i) => [
      ...countsOf({ time, squidId, res: 'success' }, successes[i]),
      ...countsOf({ time, squidId, res: 'error' }, errors[i]),
    ])
  })
}

const countsOf = (labels: Omit<IngressCount, 'count'>, count = 0): IngressCount[] =>
  count > 0 ? [{ ...labels, count: String(count) }] : []

/** Returns the requests to one version. Every request passes through a gateway, so a bucket without a row had no requests. */
export async function squidIngress(
  app: Pick<App, 'db' | 'clock' | 'config'>,
  squidId: number,
  range: Range,
): Promise<{ timeGroup: TimeGroup; metrics: IngressPoint[] }> {
  const timeGroup = timeGroupOf(range, createRetentionCheck(app))
  const buckets = bucketsOf(range, timeGroup)
  const fromMs = buckets[0]?.getTime() ?? range.fromMs
  const rows = await selectIngress(app.db, squidId, { ...range, fromMs }, timeGroup)
  const byTime = new Map(rows.map((row) => [row.atMs, row]))
  const metrics = buckets.map((at) => pointOf(at, byTime.get(at.getTime()) ?? emptyBucket))
  return { timeGroup, metrics }
}

const emptyBucket = {
  successes: 0,
  errors: 0,
  successBytes: 0,
  errorBytes: 0,
  histogram: Array.from({ length: bucketCount }, () => 0),
}

function pointOf(at: Date, row: Omit<IngressBucket, 'squidId' | 'atMs'>): IngressPoint {
  const latencyAt = (share: number) => percentile(row.histogram, share)
  return {
    ts: at.toISOString(),
    success: {
      count: String(row.successes),
      bytesSend: String(row.successBytes),
      latency: { p50: latencyAt(0.5), p90: latencyAt(0.9), p95: latencyAt(0.95), p99: latencyAt(0.99) },
    },
    error: { count: String(row.errors), bytesSend: String(row.errorBytes) },
  }
}
