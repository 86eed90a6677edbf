import type { UseQueryResult } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { ChartMark } from '../../components/chart/chart-data.ts'
import { TimeSeriesChart } from '../../components/chart/TimeSeriesChart.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import type { Answer } from './answer.ts'
import type { ChartSpec } from './charts.ts'
import { chartDataOf, type LineLook } from './lines.ts'

type Props = {
  spec: ChartSpec
  query: UseQueryResult<Answer>
  /** Whose lines there are, in this chart or any other. */
  isKnown: boolean
  shown: readonly LineLook[]
  marks: readonly ChartMark[]
  highlighted: ReadonlySet<string> | undefined
  formatTime: (timeMs: number) => string
  onZoom: (fromSeconds: number, toSeconds: number) => void
}

/** One of the eight. An answer once seen stays, even when asking again fails. */
export function MonitoringChart({ spec, query, isKnown, shown, ...rest }: Props) {
  const { data: answer, error, refetch } = query
  const data = useMemo(
    () => (answer && isKnown ? chartDataOf(answer, spec, shown) : undefined),
    [answer, isKnown, spec, shown],
  )
  if (!answer && error)
    return <ErrorState what={`${spec.title} could not be loaded`} error={error} onRetry={() => void refetch()} />
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
