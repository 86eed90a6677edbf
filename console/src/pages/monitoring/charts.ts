import type { MonitoringQuery } from '@shoal/contract'
import type { ChartScale, ChartSeries } from '../../components/chart/chart-data.ts'
import { formatCount, formatDecimal, formatInteger } from '../../lib/format.ts'

export type ChartSpec = {
  query: MonitoringQuery
  title: string
  kind: ChartSeries['kind']
  scale: ChartScale
  emptyText: string
  heightPx: 200 | 250
  /** Whether to omit the last bucket while it is still being counted, because it would look like a drop. */
  omitsIncompletePoint?: boolean
}

const formatPercent = (value: number): string => `${formatDecimal(Math.round(value * 100) / 100)}%`

const countScale: ChartScale = { format: formatInteger, steps: 'whole', isStacked: true }
const percentScale: ChartScale = { format: formatPercent }
const limitedPercentScale: ChartScale = { format: formatPercent, max: 100, threshold: { value: 95, label: 'outage' } }
const blockScale: ChartScale = { format: formatCount, exact: formatInteger, steps: 'whole' }
const heightScale: ChartScale = { format: formatInteger, steps: 'whole', isFromLowest: true }

const noData = 'No data available for the selected time range'

/** The eight charts of spec 2.10, with the order, heights, maxima and texts that it specifies. */
export const charts: readonly ChartSpec[] = [
  {
    query: 'crashes',
    title: 'Crashes',
    kind: 'bars',
    scale: countScale,
    emptyText: 'No crashes for the selected time range.',
    heightPx: 200,
  },
  {
    query: 'oom_kills',
    title: 'OOMs',
    kind: 'bars',
    scale: countScale,
    emptyText: 'No OOMs detected for the selected time range.',
    heightPx: 200,
  },
  lineChart('cpu_utilization', 'CPU utilization', percentScale),
  lineChart('cpu_trotting', 'CPU throttling', limitedPercentScale),
  lineChart('mem_utilization', 'Memory utilization', percentScale),
  lineChart('disk_utilization', 'Disk utilization', limitedPercentScale),
  { ...lineChart('indexed_blocks', 'Indexed blocks', blockScale), omitsIncompletePoint: true },
  lineChart('indexed_height', 'Indexed height', heightScale),
]

function lineChart(query: MonitoringQuery, title: string, scale: ChartScale): ChartSpec {
  return { query, title, kind: 'line', scale, emptyText: noData, heightPx: 250 }
}
