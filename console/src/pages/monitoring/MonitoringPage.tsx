import type { DeploymentType } from '@shoal/contract'
import { useQueries, useQuery, type UseQueryResult } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Bell } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { ErrorState } from '../../components/ErrorState.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { deploymentMarks } from '../../components/deployment-marks.ts'
import { formatChartTime, formatRelative, formatTime } from '../../lib/format.ts'
import { useTicking } from '../../lib/ticker.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { Legend } from './Legend.tsx'
import { MonitoringChart } from './MonitoringChart.tsx'
import { MonitoringFilters } from './MonitoringFilters.tsx'
import { charts } from './charts.ts'
import { allTags, timesOf, timeSpanOf, useMonitoringSearch, zoomTo, type TimeSpan } from './filters.ts'
import { filterLines, filterToSelected, lineStylesOf, type LineStyle } from './lines.ts'
import { deploymentsQuery, seriesQuery } from './queries.ts'
import type { MonitoringResult } from './result.ts'

/** Spec 2.10, `/monitoring`: eight charts of all versions on one time axis. */
export default function MonitoringPage() {
  const { code } = useOrg()
  const search = useMonitoringSearch()
  const setSearch = useSetSearch()
  const timeSpan = useStableValue(timeSpanOf(search))
  const results = useQueries({ queries: charts.map(({ query }) => seriesQuery(code, query, timeSpan)) })
  const [highlighted, setHighlighted] = useState<ReadonlySet<string>>()

  const { container_type: type = 'all', tag: tags = [allTags], only } = search
  // Styles are assigned after all charts have loaded, and stay stable while the set of lines does.
  const areAllLoaded = results.every(({ data, error }) => data ?? error)
  const lines = useStableValue(areAllLoaded ? lineStylesOf(results.map(({ data }) => data)) : [])
  const listed = useStableValue(filterLines(lines, { type, tags }))
  const shown = useMemo(() => filterToSelected(listed, only), [listed, only])
  const marks = useMarks(code, timeSpan, shown)
  const { fromMs, toMs } = timesOf(timeSpan, 0)
  const formatTime = (timeMs: number) => formatChartTime(timeMs, toMs - fromMs)
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
        {'timeframe' in timeSpan && <FreshnessOf results={results} />}
      </div>
      <Legend
        lines={listed}
        only={shown === listed ? undefined : only}
        onOnly={(key) => setSearch({ only: key })}
        onHighlight={setHighlighted}
      />
      {results.every(({ data, error }) => !data && error) ? (
        <ErrorState
          what="Monitoring could not be loaded"
          error={results[0]?.error}
          onRetry={() => results.forEach(({ refetch }) => void refetch())}
        />
      ) : (
        <div
          aria-busy={results.some(({ isPlaceholderData }) => isPlaceholderData)}
          className="grid grid-cols-[minmax(0,1fr)] gap-4 transition-opacity aria-busy:opacity-60 sm:grid-cols-2"
        >
          {charts.map((spec, at) => {
            const query = results[at]
            return (
              query && (
                <MonitoringChart
                  key={spec.query}
                  {...{ spec, query, areAllLoaded, shown, marks, highlighted, formatTime }}
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

function FreshnessOf({ results }: { results: readonly UseQueryResult<MonitoringResult>[] }) {
  const known = results.filter(({ data }) => data)
  if (known.length === 0) return null
  const updatedAtMs = Math.min(...known.map(({ dataUpdatedAt }) => dataUpdatedAt))
  return <Freshness updatedAtMs={updatedAtMs} isFailing={known.some(({ error }) => error)} />
}

/** Deployment types that change or restart the running code; only these are marked. */
const markedTypes: readonly DeploymentType[] = ['DEPLOY', 'DEPLOY_HARD_RESET', 'ROLLBACK', 'RESTART']

function useMarks(code: string, timeSpan: TimeSpan, shown: readonly LineStyle[]) {
  const deployments = useQuery(deploymentsQuery(code, timeSpan)).data
  return useMemo(() => {
    const squids = new Set(shown.map(({ squid }) => squid))
    const theirs = (deployments ?? []).filter(
      ({ squid, type }) => squid && squids.has(squid.reference) && markedTypes.includes(type),
    )
    return deploymentMarks(theirs, { isOfManyVersions: squids.size > 1 })
  }, [deployments, shown])
}

type Props = { updatedAtMs: number; isFailing: boolean }

/** The age of the oldest chart; announced when a refresh fails. */
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

/** Keeps the previous object while the value is equal as JSON, so that memoised results stay valid. */
function useStableValue<T>(value: T): T {
  const text = JSON.stringify(value)
  return useMemo(() => JSON.parse(text) as T, [text])
}
