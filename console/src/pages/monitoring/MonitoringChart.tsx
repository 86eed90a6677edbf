import type { UseQueryResult } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ChartMark } from '../../components/chart/chart-data.ts'
import { TimeSeriesChart } from '../../components/chart/TimeSeriesChart.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { useShownError } from '../../components/QueryView.tsx'
import type { MonitoringResult } from './result.ts'
import type { ChartSpec } from './charts.ts'
import { chartDataOf, type LineStyle } from './lines.ts'

type Props = {
  spec: ChartSpec
  query: UseQueryResult<MonitoringResult>
  /** Whether all charts have loaded or failed, so that all lines are known. */
  areAllLoaded: boolean
  shownLines: readonly LineStyle[]
  marks: readonly ChartMark[]
  /** When the data of the shown lines begins, in Unix seconds. */
  beginsAt: number | undefined
  highlighted: ReadonlySet<string> | undefined
  formatTime: (timeMs: number) => string
  onZoom: (fromSeconds: number, toSeconds: number) => void
}

/** One of the eight charts. It keeps the loaded data when a refetch fails. */
export function MonitoringChart({ spec, query, areAllLoaded, shownLines, ...rest }: Props) {
  const { data: result } = query
  const [error, retry] = useShownError(query)
  const data = useMemo(
    () => (result && areAllLoaded ? chartDataOf(result, spec, shownLines) : undefined),
    [result, areAllLoaded, spec, shownLines],
  )
  if (!result && error) return <ErrorState what={`${spec.title} could not be loaded`} error={error} onRetry={retry} />
  const { title, scale, emptyText, heightPx } = spec
  return (
    <TimeSeriesChart
      {...{ title, scale, emptyText, heightPx, data }}
      {...rest}
      syncKey="monitoring"
      isLegendElsewhere
    />
  )
}
