import type { IngressPoint, TimeGroup, UsagePoint } from '@shoal/contract'
import type { ChartData, ChartScale, ChartSeries } from '../../components/chart/chart-data.ts'
import { formatCount, formatDecimal, formatInteger, formatMegabytes } from '../../lib/format.ts'

/** Converts API data to the four charts of spec 2.9. */

export type Ingress = { timeGroup: TimeGroup; metrics: readonly IngressPoint[] }
export type Usage = { timeGroup: TimeGroup; metrics: readonly UsagePoint[] }

const daySeconds = 86_400
const bucketSeconds: Record<TimeGroup, number> = { Minute: 60, Hour: 3600, Day: daySeconds, Month: 30 * daySeconds }

const emptyChart: ChartData = { times: [], series: [] }

function chartOf<P extends { ts: string }>(
  { timeGroup, metrics }: { timeGroup: TimeGroup; metrics: readonly P[] },
  series: (Omit<ChartSeries, 'values'> & { value: (point: P) => number | null })[],
): ChartData {
  return {
    times: metrics.map(({ ts }) => Date.parse(ts) / 1000),
    bucketSeconds: bucketSeconds[timeGroup],
    isUtc: timeGroup === 'Day' || timeGroup === 'Month',
    series: series.map(({ value, ...one }) => ({ ...one, values: metrics.map(value) })),
  }
}

/** Total requests to the version: valid ones and failed ones. */
export function totalsOf({ metrics }: Ingress): { valid: number; invalid: number } {
  const sum = (value: (point: IngressPoint) => string) => metrics.reduce((total, one) => total + Number(value(one)), 0)
  return { valid: sum(({ success }) => success.count), invalid: sum(({ error }) => error.count) }
}

/**
 * No requests in a bucket means zero, since all requests pass the gateway. If all buckets are zero, the chart is
 * empty.
 */
export function trafficChart(ingress: Ingress): ChartData {
  const { valid, invalid } = totalsOf(ingress)
  if (valid + invalid === 0) return emptyChart
  return chartOf(ingress, [
    { label: 'Valid', kind: 'bars', color: 1, value: ({ success }) => Number(success.count) },
    { label: 'Invalid', kind: 'bars', color: 3, value: ({ error }) => Number(error.count) },
  ])
}

export const trafficScale: ChartScale = { format: formatCount, exact: formatInteger, steps: 'whole', isStacked: true }

/** The spec has P95 and P99; P50 and P90 are hidden at first. */
export const latencyChart = (ingress: Ingress): ChartData =>
  chartOf(ingress, [
    { label: 'P50', kind: 'points', color: 5, isHiddenAtFirst: true, value: ({ success }) => success.latency.p50 },
    { label: 'P90', kind: 'points', color: 2, isHiddenAtFirst: true, value: ({ success }) => success.latency.p90 },
    { label: 'P95', kind: 'points', color: 1, value: ({ success }) => success.latency.p95 },
    { label: 'P99', kind: 'points', color: 3, value: ({ success }) => success.latency.p99 },
  ])

export const latencyScale: ChartScale = {
  format: (ms) => `${formatCount(ms)} ms`,
  exact: (ms) => `${formatDecimal(Number(ms.toPrecision(3)))} ms`,
}

type Field = Exclude<keyof UsagePoint, 'ts'>
const used = (label: string, color: number, field: Field) => ({
  label,
  kind: 'line' as const,
  color,
  value: (point: UsagePoint) => point[field],
})
const limit = (label: string, color: number, field: Field) => ({ ...used(label, color, field), kind: 'limit' as const })

export const cpuChart = (usage: Usage): ChartData =>
  withoutUnknownLimits(
    chartOf(usage, [
      used('API', 1, 'apiCpuUsage'),
      used('DB', 2, 'dbCpuUsage'),
      used('Processor', 3, 'processorCpuUsage'),
      limit('API limit', 1, 'apiCpuRequested'),
      limit('Processor limit', 3, 'processorCpuRequested'),
    ]),
  )

export const cpuScale: ChartScale = {
  format: formatDecimal,
  exact: (cores) => `${formatDecimal(cores)} ${cores === 1 ? 'core' : 'cores'}`,
}

export const memoryChart = (usage: Usage): ChartData =>
  withoutUnknownLimits(
    chartOf(usage, [
      used('API', 1, 'apiMemUsageMb'),
      used('DB', 2, 'dbMemUsageMb'),
      used('Processor', 3, 'processorMemUsageMb'),
      limit('API limit', 1, 'apiMemRequestedMb'),
      limit('Processor limit', 3, 'processorMemRequestedMb'),
    ]),
  )

export const memoryScale: ChartScale = { format: formatMegabytes, steps: 'binary' }

/** Omit limits that are unknown at all times. */
const withoutUnknownLimits = (data: ChartData): ChartData => ({
  ...data,
  series: data.series.filter(({ kind, values }) => kind !== 'limit' || values.some((value) => value !== null)),
})
