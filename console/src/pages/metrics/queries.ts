import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { deploymentsSince } from '../../api/deployments.ts'
import { callApi } from '../../api/query.ts'
import { cutStart, queryTimes, isCustom, type RangeSearch } from '../../components/time-range/time-range.ts'
import { ranges } from './ranges.ts'

/** Poll interval (spec 9). */
const pollMs = 10_000

export type MetricsQuery = {
  code: string
  squidId: string
  search: RangeSearch
  /** When the version was created. */
  bornMs: number
}

/** A range that ends now is polled; a past range does not change. */
function pollOptions({ search }: MetricsQuery) {
  const hasEnded = isCustom(search) && search.to !== undefined && Date.parse(search.to) <= Date.now()
  return {
    refetchInterval: hasEnded ? (false as const) : pollMs,
    placeholderData: keepPreviousData,
  }
}

function timesOf({ search, bornMs }: MetricsQuery) {
  const cutMs = cutStart(ranges, search, bornMs, Date.now())
  return cutMs === null ? queryTimes(ranges, search, Date.now()) : { from: new Date(cutMs).toISOString() }
}

export function ingressQuery(metricsQuery: MetricsQuery) {
  const params = { code: metricsQuery.code, squidId: metricsQuery.squidId }
  return queryOptions({
    queryKey: ['metrics.getSquidIngress', { params }, metricsQuery.search] as const,
    queryFn: ({ signal }) => callApi('metrics.getSquidIngress', { params, query: timesOf(metricsQuery) }, signal),
    ...pollOptions(metricsQuery),
  })
}

export function usageQuery(metricsQuery: MetricsQuery) {
  const params = { code: metricsQuery.code, squidId: metricsQuery.squidId }
  return queryOptions({
    queryKey: ['metrics.getSquidUsage', { params }, metricsQuery.search] as const,
    queryFn: ({ signal }) => callApi('metrics.getSquidUsage', { params, query: timesOf(metricsQuery) }, signal),
    ...pollOptions(metricsQuery),
  })
}

/** Deployments since the start of the range. */
export function deploymentsQuery(metricsQuery: MetricsQuery) {
  const { code, squidId, search } = metricsQuery
  return queryOptions({
    queryKey: ['deployments.list', { params: { code } }, 'since', squidId, search] as const,
    queryFn: ({ signal }) => deploymentsSince(metricsQuery, Date.parse(timesOf(metricsQuery).from ?? ''), signal),
    ...pollOptions(metricsQuery),
  })
}
