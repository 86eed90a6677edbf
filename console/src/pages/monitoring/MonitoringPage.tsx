import type { DeploymentType } from '@shoal/contract'
import { useQueries, useQuery, type UseQueryResult } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Bell } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { ErrorState } from '../../components/ErrorState.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { prefetchPlot } from '../../components/chart/InteractiveChart.tsx'
import { useShownError } from '../../components/QueryView.tsx'
import { deploymentMarks } from '../../components/deployment-marks.ts'
import { formatSpan } from '../../components/squid/sync.ts'
import { formatChartTime, formatRelative, formatTime } from '../../lib/format.ts'
import { useTicking } from '../../lib/ticker.ts'
import { Button, buttonClass } from '../../ui/Button.tsx'
import { Legend } from './Legend.tsx'
import { MonitoringChart } from './MonitoringChart.tsx'
import { MonitoringFilters } from './MonitoringFilters.tsx'
import { charts } from './charts.ts'
import {
  allTags,
  timesOf,
  timeSpanOf,
  useMonitoringSearch,
  useSetMonitoringSearch,
  zoomTo,
  type TimeSpan,
} from './filters.ts'
import { filterLines, filterToSelected, firstValueAt, lineStylesOf, type LineStyle } from './lines.ts'
import { deploymentsQuery, seriesQuery } from './queries.ts'
import type { MonitoringResult } from './result.ts'

export const prefetch: Prefetch = ({ client, org: { code }, search }) => {
  const timeSpan = timeSpanOf(search)
  for (const { query } of charts) void client.prefetchQuery(seriesQuery(code, query, timeSpan))
  void client.prefetchQuery(deploymentsQuery(code, timeSpan))
  prefetchPlot()
}

/** The selected tags if the URL contains none. */
const everyTag = [allTags]

/** Eight charts of all versions on one time axis (spec 2.10, `/monitoring`). */
export default function MonitoringPage() {
  const { code } = useOrg()
  const search = useMonitoringSearch()
  const setSearch = useSetMonitoringSearch()
  const timeSpan = timeSpanOf(search)
  const results = useQueries({ queries: charts.map(({ query }) => seriesQuery(code, query, timeSpan)) })
  const [highlighted, setHighlighted] = useState<ReadonlySet<string>>()

  const { container_type: type = 'all', tag: tags = everyTag, only } = search
  const areAllLoaded = results.every(({ data, error }) => data ?? error)
  const lines = useLines(results, areAllLoaded)
  const filteredLines = useMemo(() => filterLines(lines, { type, tags }), [lines, type, tags])
  const shownLines = useMemo(() => filterToSelected(filteredLines, only), [filteredLines, only])
  const beginsAt = useMemo(
    () =>
      firstValueAt(
        results.map(({ data }) => data),
        shownLines,
      ) ?? undefined,
    // `results` is a new array at each render, so the dependencies are the data of each result.
    // oxlint-disable-next-line react/exhaustive-deps
    [shownLines, ...results.map(({ data }) => data)],
  )
  const marks = useMarks(code, timeSpan, shownLines)
  const { fromMs, toMs } = timesOf(timeSpan, 0)
  const spanMs = toMs - fromMs
  const formatTime = (timeMs: number) => formatChartTime(timeMs, spanMs)
  // If nothing could be loaded, one error replaces all charts.
  const [error, retry] = useShownError({
    data: results.find(({ data }) => data)?.data,
    error: results.every(({ data, error }) => !data && error) ? (results[0]?.error ?? null) : null,
    errorUpdateCount: Math.min(...results.map(({ errorUpdateCount }) => errorUpdateCount)),
    refetch: () => results.forEach(({ refetch }) => void refetch()),
  })
  const zoom = (fromSeconds: number, toSeconds: number) => setSearch(zoomTo(fromSeconds, toSeconds), 'push')

  return (
    <>
      <PageHeader
        title="Monitoring"
        context="Crashes, load and progress of all squids over time."
        actions={
          <Link to="/monitoring/alerts" className={buttonClass()}>
            <Bell size={14} aria-hidden />
            Alerts
          </Link>
        }
      />
      <div className="mb-4 flex flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <MonitoringFilters lines={lines} />
        {'timeframe' in timeSpan && (
          <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
            {beginsAt !== undefined && <FitToData beginsAt={beginsAt} spanMs={spanMs} onFit={zoom} />}
            <ResultsFreshness results={results} />
          </div>
        )}
      </div>
      <Legend
        lines={filteredLines}
        only={shownLines === filteredLines ? undefined : only}
        onSelect={(key) => setSearch({ only: key })}
        onHighlight={setHighlighted}
      />
      {error ? (
        <ErrorState what="Monitoring could not be loaded" error={error} onRetry={retry} />
      ) : (
        <div
          aria-busy={results.some(({ isPlaceholderData }) => isPlaceholderData)}
          className="grid grid-cols-[minmax(0,1fr)] gap-4 transition-opacity aria-busy:opacity-60 sm:grid-cols-2"
        >
          {charts.map((spec, index) => {
            const query = results[index]
            return (
              query && (
                <MonitoringChart
                  key={spec.query}
                  {...{ spec, query, areAllLoaded, shownLines, marks, beginsAt, highlighted, formatTime }}
                  onZoom={zoom}
                />
              )
            )
          })}
        </div>
      )}
    </>
  )
}

/**
 * The lines of all charts with their styles, which are assigned when all charts have loaded. A refetch replaces the data of a chart, but
 * mostly has the same lines: the returned array then stays the same, so that memoized results stay valid.
 */
function useLines(results: readonly UseQueryResult<MonitoringResult>[], areAllLoaded: boolean): LineStyle[] {
  const text = useMemo(
    () => JSON.stringify(areAllLoaded ? lineStylesOf(results.map(({ data }) => data)) : []),
    // `results` is a new array at each render, so the dependencies are the data of each result.
    // oxlint-disable-next-line react/exhaustive-deps
    [areAllLoaded, ...results.map(({ data }) => data)],
  )
  return useMemo(() => JSON.parse(text) as LineStyle[], [text])
}

/** If the data covers less than this share of the timeframe, it is too narrow to read. */
const narrowShare = 0.25

type FitProps = { beginsAt: number; spanMs: number; onFit: (fromSeconds: number, toSeconds: number) => void }

/** A button that zooms to the data, shown if all squids are so new that their data covers only a small part of the timeframe. */
function FitToData({ beginsAt, spanMs, onFit }: FitProps) {
  const age = useTicking((nowMs) => formatSpan(nowMs / 1000 - beginsAt))
  const isNarrow = useTicking((nowMs) => nowMs - beginsAt * 1000 < spanMs * narrowShare)
  if (!isNarrow) return null
  return (
    <Button size={28} onClick={() => onFit(beginsAt, Date.now() / 1000)}>
      Fit to data ({age})
    </Button>
  )
}

function ResultsFreshness({ results }: { results: readonly UseQueryResult<MonitoringResult>[] }) {
  const loaded = results.filter(({ data }) => data)
  if (loaded.length === 0) return null
  const updatedAtMs = Math.min(...loaded.map(({ dataUpdatedAt }) => dataUpdatedAt))
  return <Freshness updatedAtMs={updatedAtMs} isFailing={loaded.some(({ error }) => error)} />
}

/** Deployment types that change or restart the running code; only these are marked. */
const markedTypes: readonly DeploymentType[] = ['DEPLOY', 'DEPLOY_HARD_RESET', 'ROLLBACK', 'REDEPLOY', 'RESTART']

function useMarks(code: string, timeSpan: TimeSpan, shownLines: readonly LineStyle[]) {
  const deployments = useQuery(deploymentsQuery(code, timeSpan)).data
  return useMemo(() => {
    const squids = new Set(shownLines.map(({ squid }) => squid))
    const markedDeployments = (deployments ?? []).filter(
      ({ squid, type }) => squid && squids.has(squid.reference) && markedTypes.includes(type),
    )
    return deploymentMarks(markedDeployments, { isVersionNamed: squids.size > 1 })
  }, [deployments, shownLines])
}

type Props = { updatedAtMs: number; isFailing: boolean }

/** Shows the age of the oldest chart, and announces a failed refresh to screen readers. */
function Freshness({ updatedAtMs, isFailing }: Props) {
  const ago = useTicking((nowMs) => formatRelative(updatedAtMs, nowMs))
  if (isFailing)
    return (
      <span role="status" className="tabular text-sm text-warn">
        Refresh failed; as of {formatTime(updatedAtMs)}
      </span>
    )
  return <span className="tabular text-sm text-ink-3">Updated {ago}</span>
}
