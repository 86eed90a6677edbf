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
  /** Omit a bucket that is still being counted: it would show as a drop. */
  omitsIncompletePoint?: boolean
}

const percent = (value: number): string => `${formatDecimal(Math.round(value * 100) / 100)}%`

const counts: ChartScale = { format: formatInteger, steps: 'whole', isStacked: true }
const share: ChartScale = { format: percent }
const shareOfAll: ChartScale = { format: percent, max: 100, threshold: { value: 95, label: 'outage' } }
const blocks: ChartScale = { format: formatCount, exact: formatInteger, steps: 'whole' }
const height: ChartScale = { format: formatInteger, steps: 'whole', isFromLowest: true }

const noData = 'No data available for the selected time range'

/** The eight charts of spec 2.10 in order, with its heights, maxima and texts. */
export const charts: readonly ChartSpec[] = [
  {
    query: 'crashes',
    title: 'Crashes',
    kind: 'bars',
    scale: counts,
    emptyText: 'No crashes for the selected time range.',
    heightPx: 200,
  },
  {
    query: 'oom_kills',
    title: 'OOMs',
    kind: 'bars',
    scale: counts,
    emptyText: 'No OOMs detected for the selected time range.',
    heightPx: 200,
  },
  chart('cpu_utilization', 'CPU utilization', share),
  chart('cpu_trotting', 'CPU throttling', shareOfAll),
  chart('mem_utilization', 'Memory utilization', share),
  chart('disk_utilization', 'Disk utilization', shareOfAll),
  { ...chart('indexed_blocks', 'Indexed blocks', blocks), omitsIncompletePoint: true },
  chart('indexed_height', 'Indexed height', height),
]

function chart(query: MonitoringQuery, title: string, scale: ChartScale): ChartSpec {
  return { query, title, kind: 'line', scale, emptyText: noData, heightPx: 250 }
}
