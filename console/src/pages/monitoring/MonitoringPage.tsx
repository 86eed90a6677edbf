import type { DeploymentType } from '@shoal/contract'
import { useQueries, useQuery, type UseQueryResult } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Bell } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { deploymentMarks } from '../../components/deployment-marks.ts'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { ErrorState } from '../../components/ErrorState.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import type { Answer } from './answer.ts'
import { formatChartTime } from '../../lib/format.ts'
import { charts } from './charts.ts'
import { allTags, stretchOf, timesOf, useMonitoringSearch, zoomTo, type Stretch } from './filters.ts'
import { Freshness } from './Freshness.tsx'
import { Legend } from './Legend.tsx'
import { filterLooks, isolated, looksOf, type LineLook } from './lines.ts'
import { MonitoringChart } from './MonitoringChart.tsx'
import { MonitoringFilters } from './MonitoringFilters.tsx'
import { deploymentsQuery, seriesQuery } from './queries.ts'
import { useSameWhile } from './use-same-while.ts'

/** Spec 2.10, `/monitoring`: eight charts of all versions on one time axis. */
export default function MonitoringPage() {
  const { code } = useOrg()
  const search = useMonitoringSearch()
  const setSearch = useSetSearch()
  const stretch = useSameWhile(stretchOf(search))
  const answers = useQueries({ queries: charts.map(({ query }) => seriesQuery(code, query, stretch)) })
  const [highlighted, setHighlighted] = useState<ReadonlySet<string>>()

  const { container_type: type = 'all', tag: tags = [allTags], only } = search
  // Lines get their looks when all are known, and keep them: who is in the answers hardly ever changes.
  const isKnown = answers.every(({ data, error }) => data ?? error)
  const looks = useSameWhile(isKnown ? looksOf(answers.map(({ data }) => data)) : [])
  const listed = useSameWhile(filterLooks(looks, { type, tags }))
  const shown = useMemo(() => isolated(listed, only), [listed, only])
  const marks = useMarks(code, stretch, shown)
  const { fromMs, toMs } = timesOf(stretch, 0)
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
        <MonitoringFilters looks={looks} />
        {'timeframe' in stretch && <FreshnessOf answers={answers} />}
      </div>
      <Legend
        looks={listed}
        only={shown === listed ? undefined : only}
        onOnly={(key) => setSearch({ only: key })}
        onHighlight={setHighlighted}
      />
      {answers.every(({ data, error }) => !data && error) ? (
        <ErrorState
          what="Monitoring could not be loaded"
          error={answers[0]?.error}
          onRetry={() => answers.forEach(({ refetch }) => void refetch())}
        />
      ) : (
        <div
          aria-busy={answers.some(({ isPlaceholderData }) => isPlaceholderData)}
          className="grid grid-cols-[minmax(0,1fr)] gap-4 transition-opacity aria-busy:opacity-60 sm:grid-cols-2"
        >
          {charts.map((spec, at) => {
            const query = answers[at]
            return (
              query && (
                <MonitoringChart
                  key={spec.query}
                  {...{ spec, query, isKnown, shown, marks, highlighted, formatTime }}
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

function FreshnessOf({ answers }: { answers: readonly UseQueryResult<Answer>[] }) {
  const known = answers.filter(({ data }) => data)
  if (known.length === 0) return null
  const updatedAtMs = Math.min(...known.map(({ dataUpdatedAt }) => dataUpdatedAt))
  return <Freshness updatedAtMs={updatedAtMs} isFailing={known.some(({ error }) => error)} />
}

/** Those of the versions that are shown that bring other code to run, or the same anew. */
const marked: readonly DeploymentType[] = ['DEPLOY', 'DEPLOY_HARD_RESET', 'ROLLBACK', 'RESTART']

function useMarks(code: string, stretch: Stretch, shown: readonly LineLook[]) {
  const deployments = useQuery(deploymentsQuery(code, stretch)).data
  return useMemo(() => {
    const squids = new Set(shown.map(({ squid }) => squid))
    const theirs = (deployments ?? []).filter(
      ({ squid, type }) => squid && squids.has(squid.reference) && marked.includes(type),
    )
    return deploymentMarks(theirs, { isOfManyVersions: squids.size > 1 })
  }, [deployments, shown])
}
