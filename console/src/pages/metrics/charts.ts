import type { IngressPoint, TimeGroup, UsagePoint } from '@shoal/contract'
import type { ChartData, ChartScale, ChartSeries } from '../../components/chart/chart-data.ts'
import { countOf, formatCount, formatDecimal, formatInteger, formatMegabytes, formatPercent } from '../../lib/format.ts'

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
    series: series.map(({ value, ...rest }) => ({ ...rest, values: metrics.map(value) })),
  }
}

/** The total numbers of valid and invalid requests. */
export function totalsOf({ metrics }: Ingress): { valid: number; invalid: number } {
  const sum = (value: (point: IngressPoint) => string) =>
    metrics.reduce((total, point) => total + Number(value(point)), 0)
  return { valid: sum(({ success }) => success.count), invalid: sum(({ error }) => error.count) }
}

/**
 * The chart of requests. A bucket without requests is drawn as zero, since the gateway counts every request. If all buckets are zero,
 * the chart is empty.
 */
export function trafficChart(ingress: Ingress): ChartData {
  const { valid, invalid } = totalsOf(ingress)
  if (valid + invalid === 0) return emptyChart
  return chartOf(ingress, [
    { label: 'Valid', kind: 'bars', color: 1, value: ({ success }) => Number(success.count) },
    { label: 'Invalid', kind: 'bars', color: 3, value: ({ error }) => Number(error.count) },
  ])
}

/** The scale of requests. */
export const trafficScale: ChartScale = { format: formatCount, exact: formatInteger, steps: 'whole', isStacked: true }

/** The chart of latencies, in ms. The spec requires P95 and P99; P50 and P90 are additional and initially hidden. */
export const latencyChart = (ingress: Ingress): ChartData =>
  chartOf(ingress, [
    { label: 'P50', kind: 'points', color: 5, isInitiallyHidden: true, value: ({ success }) => success.latency.p50 },
    { label: 'P90', kind: 'points', color: 2, isInitiallyHidden: true, value: ({ success }) => success.latency.p90 },
    { label: 'P95', kind: 'points', color: 1, value: ({ success }) => success.latency.p95 },
    { label: 'P99', kind: 'points', color: 3, value: ({ success }) => success.latency.p99 },
  ])

/** The scale of latencies in ms. */
export const latencyScale: ChartScale = {
  format: (ms) => `${formatCount(ms)} ms`,
  exact: (ms) => `${formatDecimal(Number(ms.toPrecision(3)))} ms`,
}

type Field = Exclude<keyof UsagePoint, 'ts'>
const usageLine = (label: string, color: number, field: Field) => ({
  label,
  kind: 'line' as const,
  color,
  value: (point: UsagePoint) => point[field],
})
const limitLine = (label: string, color: number, field: Field) => ({
  ...usageLine(label, color, field),
  kind: 'limit' as const,
})

/** The chart of used CPU cores. */
export const cpuChart = (usage: Usage): ChartData =>
  withoutUnknownLimits(
    chartOf(usage, [
      usageLine('API', 1, 'apiCpuUsage'),
      usageLine('DB', 2, 'dbCpuUsage'),
      usageLine('Processor', 3, 'processorCpuUsage'),
      limitLine('API limit', 1, 'apiCpuRequested'),
      limitLine('Processor limit', 3, 'processorCpuRequested'),
    ]),
  )

/** The scale of CPU cores. */
export const cpuScale: ChartScale = {
  format: formatDecimal,
  exact: (cores) => countOf(cores, 'core', formatDecimal),
}

/** The chart of used memory, in MB. */
export const memoryChart = (usage: Usage): ChartData =>
  withoutUnknownLimits(
    chartOf(usage, [
      usageLine('API', 1, 'apiMemUsageMb'),
      usageLine('DB', 2, 'dbMemUsageMb'),
      usageLine('Processor', 3, 'processorMemUsageMb'),
      limitLine('API limit', 1, 'apiMemRequestedMb'),
      limitLine('Processor limit', 3, 'processorMemRequestedMb'),
    ]),
  )

/** The scale of memory in MB. */
export const memoryScale: ChartScale = { format: formatMegabytes, steps: 'binary' }

/** Omits limits that have no value in any bucket. */
const withoutUnknownLimits = (data: ChartData): ChartData => ({
  ...data,
  series: data.series.filter(({ kind, values }) => kind !== 'limit' || values.some((value) => value !== null)),
})

const noRequests = 'No requests for the selected time range.'
/** The text for empty charts, as in spec 2.10. */
export const noData = 'No data available for the selected time range'

/** What the API returns; undefined while loading. */
export type Metrics = { ingress?: Ingress | undefined; usage?: Usage | undefined }
type DrawnChart = { data: ChartData; note: string }
export type ChartSpec = {
  title: string
  source: keyof Metrics
  scale: ChartScale
  emptyText: string
  /** Returns undefined if the metrics of the source are not loaded. */
  draw: (metrics: Metrics) => DrawnChart | undefined
}

/** The four charts of spec 2.9 in their order. */
export const charts: readonly ChartSpec[] = [
  ingressChart('Traffic', trafficScale, trafficChart, trafficNote),
  usageChart('CPU usage', cpuScale, cpuChart, 'cores'),
  usageChart('RAM usage', memoryScale, memoryChart, ''),
  ingressChart('Response latency', latencyScale, latencyChart, () => 'of valid requests'),
]

type ChartOf<T> = (metrics: T) => ChartData

function ingressChart(
  title: string,
  scale: ChartScale,
  dataOf: ChartOf<Ingress>,
  noteOf: (ingress: Ingress) => string,
): ChartSpec {
  const draw = ({ ingress }: Metrics) => ingress && { data: dataOf(ingress), note: noteOf(ingress) }
  return { title, source: 'ingress', scale, emptyText: noRequests, draw }
}

function usageChart(title: string, scale: ChartScale, dataOf: ChartOf<Usage>, note: string): ChartSpec {
  const draw = ({ usage }: Metrics) => usage && { data: dataOf(usage), note }
  return { title, source: 'usage', scale, emptyText: noData, draw }
}

function trafficNote(ingress: Ingress): string {
  const { valid, invalid } = totalsOf(ingress)
  if (valid + invalid === 0) return ''
  const share = formatPercent(invalid / (valid + invalid))
  return `${formatInteger(valid)} valid · ${formatInteger(invalid)} invalid (${share})`
}
