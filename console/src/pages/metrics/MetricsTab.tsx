import { isHibernated, type Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { ZoomOut } from 'lucide-react'
import { useMemo } from 'react'
import { useOrg } from '../../api/active-org.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { prefetchVersion, versionQuery, type VersionPath } from '../../api/version.ts'
import { prefetchPlot } from '../../components/chart/InteractiveChart.tsx'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { deploymentMarks } from '../../components/deployment-marks.ts'
import { QueryView } from '../../components/QueryView.tsx'
import { formatSpan } from '../../components/squid/sync.ts'
import { isCustom, namedRange, shortenedStartMs, type RangeSearch } from '../../components/time-range/time-range.ts'
import { TimeRangePicker } from '../../components/time-range/TimeRangePicker.tsx'
import { formatDateTime } from '../../lib/format.ts'
import { useTicking } from '../../lib/ticker.ts'
import { Button } from '../../ui/Button.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { MetricsCharts } from './MetricsCharts.tsx'
import { ranges } from './ranges.ts'
import { deploymentsQuery, ingressQuery, usageQuery } from './queries.ts'

const route = getRouteApi('/app/squids/$squidName/$squidSlot/metrics')

const rangeOf = ({ range, from, to }: RangeSearch): RangeSearch => ({ range, from, to })

export const prefetch: Prefetch<VersionPath> = (context) => {
  const { client, org, search } = context
  prefetchPlot()
  prefetchVersion(context, ({ id, createdAt, status }) => {
    if (isHibernated({ status })) return
    const metricsQuery = {
      code: org.code,
      squidId: String(id),
      search: rangeOf(search),
      createdAtMs: Date.parse(createdAt),
    }
    void client.prefetchQuery(ingressQuery(metricsQuery))
    void client.prefetchQuery(usageQuery(metricsQuery))
    void client.prefetchQuery(deploymentsQuery(metricsQuery))
  })
}

/** Traffic, latency, CPU and memory of one version over time (spec 2.9, Metrics). */
export default function MetricsTab() {
  const { squidName, squidSlot } = route.useParams()
  const params = { code: useOrg().code, reference: `${squidName}@${squidSlot}` }
  const squid = useQuery(versionQuery(params))
  return (
    <QueryView query={squid} what="This version" skeleton={<Skeleton className="h-180 w-full" />}>
      {(version) => <Metrics squid={version} code={params.code} />}
    </QueryView>
  )
}

function Metrics({ squid: { id, createdAt }, code }: { squid: Pick<Squid, 'id' | 'createdAt'>; code: string }) {
  const search = rangeOf(route.useSearch())
  const createdAtMs = Date.parse(createdAt)
  const metricsQuery = { code, squidId: String(id), search, createdAtMs }
  const isShortened = useTicking((nowMs) => shortenedStartMs(ranges, search, createdAtMs, nowMs) !== null)
  const age = useTicking((nowMs) => formatSpan((nowMs - createdAtMs) / 1000))
  const setSearch = useSetSearch(route)
  const deployments = useQuery(deploymentsQuery(metricsQuery))
  const marks = useMemo(() => deploymentMarks(deployments.data ?? []), [deployments.data])
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <TimeRangePicker ranges={ranges} search={search} onChange={setSearch} />
        {isCustom(search) && (
          <Button
            icon={<ZoomOut size={14} aria-hidden />}
            onClick={() => setSearch({ from: undefined, to: undefined }, 'push')}
          >
            Back to {namedRange(ranges, search).label.toLowerCase()}
          </Button>
        )}
        {isShortened && (
          <p className="text-sm text-ink-2" data-tip={`No data before ${formatDateTime(createdAt)}`}>
            since creation, {age}
          </p>
        )}
        {deployments.isError ? (
          <p className="ml-auto text-sm text-ink-3">Deployments could not be loaded, so they are not marked.</p>
        ) : (
          <p className="ml-auto text-sm text-ink-3 max-xs:hidden pointer-coarse:hidden">Drag over a chart to zoom in</p>
        )}
      </div>
      <MetricsCharts
        metricsQuery={metricsQuery}
        marks={marks}
        beginsAt={Math.floor(createdAtMs / 60_000) * 60}
        onZoom={(start, end) => setSearch(wholeMinutes(start, end), 'push')}
      />
    </div>
  )
}

/** The URL parameters of a range that the user selected in a chart, extended to whole minutes. */
function wholeMinutes(fromSeconds: number, toSeconds: number): { from: string; to: string } {
  const at = (minute: number) => new Date(minute * 60_000).toISOString()
  return { from: at(Math.floor(fromSeconds / 60)), to: at(Math.ceil(toSeconds / 60)) }
}
