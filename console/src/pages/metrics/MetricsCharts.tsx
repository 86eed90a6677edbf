import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ChartMark } from '../../components/chart/chart-data.ts'
import { isWithoutValues } from '../../components/chart/chart-data.ts'
import { TimeSeriesChart } from '../../components/chart/TimeSeriesChart.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { cx } from '../../ui/classes.ts'
import { charts, noData, type Metrics } from './charts.ts'
import { axisFormats } from './ranges.ts'
import { ingressQuery, usageQuery, type MetricsQuery } from './queries.ts'

type Props = {
  metricsQuery: MetricsQuery
  marks: readonly ChartMark[]
  /** When the version was created, in Unix seconds. */
  beginsAt: number
  onZoom: (fromSeconds: number, toSeconds: number) => void
}

/** The charts of spec 2.9. They share a crosshair, and dragging over one zooms all of them. */
export function MetricsCharts({ metricsQuery, marks, beginsAt, onZoom }: Props) {
  const { drawn, sources, isStale } = useCharts(metricsQuery)
  const { ingress, usage } = sources
  if (ingress.hasFailed && usage.hasFailed)
    return <ErrorState what="The metrics could not be loaded" error={ingress.error} onRetry={ingress.retry} />
  if (drawn.every((chart) => chart && isWithoutValues(chart.data)))
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
        {charts.map(({ title, source, scale, emptyText }, index) => {
          const { hasFailed, data } = sources[source]
          if (hasFailed) return null
          return (
            <TimeSeriesChart
              key={title}
              title={title}
              note={drawn[index]?.note}
              data={drawn[index]?.data}
              scale={scale}
              emptyText={emptyText}
              marks={marks}
              beginsAt={beginsAt}
              onZoom={onZoom}
              syncKey="metrics"
              {...(data && { formatTime: axisFormats[data.timeGroup] })}
            />
          )
        })}
      </div>
    </>
  )
}

const drawAll = (metrics: Metrics) => charts.map(({ draw }) => draw(metrics))

/** Requests the metrics and converts them to charts, those of each source only when its metrics change. */
function useCharts(metricsQuery: MetricsQuery) {
  const ingress = useQuery(ingressQuery(metricsQuery))
  const usage = useQuery(usageQuery(metricsQuery))
  const ofIngress = useMemo(() => drawAll({ ingress: ingress.data }), [ingress.data])
  const ofUsage = useMemo(() => drawAll({ usage: usage.data }), [usage.data])
  return {
    drawn: ofIngress.map((chart, index) => chart ?? ofUsage[index]),
    sources: { ingress: stateOf(ingress), usage: stateOf(usage) },
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
