import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ChartMark } from '../../components/chart/chart-data.ts'
import { isWithoutValues } from '../../components/chart/chart-data.ts'
import { TimeSeriesChart } from '../../components/chart/TimeSeriesChart.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { formatInteger, formatPercent } from '../../lib/format.ts'
import { cx } from '../../ui/classes.ts'
import * as charts from './charts.ts'
import { axisFormats } from './ranges.ts'
import { ingressQuery, usageQuery, type MetricsQuery } from './queries.ts'

const noRequests = 'No requests for the selected time range.'
/** The text for empty charts, as in spec 2.10. */
const noData = 'No data available for the selected time range'

type Props = {
  metricsQuery: MetricsQuery
  marks: readonly ChartMark[]
  /** When the version was created, in Unix seconds. */
  beginsAt: number
  onZoom: (fromSeconds: number, toSeconds: number) => void
}

/** The four charts of spec 2.9. They share a crosshair, and dragging over one zooms all of them. */
export function MetricsCharts({ metricsQuery, marks, beginsAt, onZoom }: Props) {
  const { traffic, latency, cpu, memory, ingress, usage, isStale } = useCharts(metricsQuery)
  const commonProps = { marks, beginsAt, onZoom, syncKey: 'metrics' }
  const ingressFormat = ingress.data && { formatTime: axisFormats[ingress.data.timeGroup] }
  const usageFormat = usage.data && { formatTime: axisFormats[usage.data.timeGroup] }
  if (ingress.hasFailed && usage.hasFailed)
    return <ErrorState what="The metrics could not be loaded" error={ingress.error} onRetry={ingress.retry} />
  if ([traffic, latency, cpu, memory].every((chart) => chart && isWithoutValues(chart)))
    return (
      <EmptyState
        title={noData}
        text="Shoal counts requests as they arrive, and measures CPU and memory while programs run."
      />
    )
  return (
    <>
      {ingress.hasFailed && (
        <ErrorState what="Traffic and latency could not be loaded" error={ingress.error} onRetry={ingress.retry} />
      )}
      {usage.hasFailed && (
        <ErrorState what="CPU and memory could not be loaded" error={usage.error} onRetry={usage.retry} />
      )}
      <div aria-busy={isStale} className={cx('grid gap-4 lg:grid-cols-2', isStale && 'opacity-60')}>
        {!ingress.hasFailed && (
          <TimeSeriesChart
            title="Traffic"
            note={ingress.data && trafficNote(ingress.data)}
            data={traffic}
            scale={charts.trafficScale}
            emptyText={noRequests}
            {...commonProps}
            {...ingressFormat}
          />
        )}
        {!usage.hasFailed && (
          <>
            <TimeSeriesChart
              title="CPU usage"
              note="cores"
              data={cpu}
              scale={charts.cpuScale}
              emptyText={noData}
              {...commonProps}
              {...usageFormat}
            />
            <TimeSeriesChart
              title="RAM usage"
              data={memory}
              scale={charts.memoryScale}
              emptyText={noData}
              {...commonProps}
              {...usageFormat}
            />
          </>
        )}
        {!ingress.hasFailed && (
          <TimeSeriesChart
            title="Response latency"
            note="of valid requests"
            data={latency}
            scale={charts.latencyScale}
            emptyText={noRequests}
            {...commonProps}
            {...ingressFormat}
          />
        )}
      </div>
    </>
  )
}

/** Requests the metrics and converts them to charts. */
function useCharts(metricsQuery: MetricsQuery) {
  const ingress = useQuery(ingressQuery(metricsQuery))
  const usage = useQuery(usageQuery(metricsQuery))
  const ingressCharts = useMemo(
    () => ingress.data && { traffic: charts.trafficChart(ingress.data), latency: charts.latencyChart(ingress.data) },
    [ingress.data],
  )
  const usageCharts = useMemo(
    () => usage.data && { cpu: charts.cpuChart(usage.data), memory: charts.memoryChart(usage.data) },
    [usage.data],
  )
  return {
    ...ingressCharts,
    ...usageCharts,
    ingress: stateOf(ingress),
    usage: stateOf(usage),
    /** Whether the charts still show the previous range while a new one is loading. */
    isStale: ingress.isPlaceholderData || usage.isPlaceholderData,
  }
}

type Query<T> = { data: T | undefined; error: Error | null; refetch: () => Promise<unknown> }

const stateOf = <T,>({ data, error, refetch }: Query<T>) => ({
  data,
  error,
  hasFailed: error !== null && data === undefined,
  retry: () => void refetch(),
})

function trafficNote(ingress: charts.Ingress): string {
  const { valid, invalid } = charts.totalsOf(ingress)
  if (valid + invalid === 0) return ''
  const share = formatPercent(invalid / (valid + invalid))
  return `${formatInteger(valid)} valid · ${formatInteger(invalid)} invalid (${share})`
}
