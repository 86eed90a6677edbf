import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { deploymentsSince } from '../../api/deployments.ts'
import { callApi } from '../../api/query.ts'
import { queryTimes, isCustom, type RangeSearch } from '../../components/time-range/time-range.ts'
import { ranges } from './ranges.ts'

/** Poll interval (spec 9). */
const pollMs = 10_000

export type MetricsQuery = { code: string; squidId: string; search: RangeSearch }

/** A range that ends now is polled; a past range does not change. */
function pollOptions({ search }: MetricsQuery) {
  const hasEnded = isCustom(search) && search.to !== undefined && Date.parse(search.to) <= Date.now()
  return {
    refetchInterval: hasEnded ? (false as const) : pollMs,
    placeholderData: keepPreviousData,
  }
}

const timesOf = ({ search }: MetricsQuery) => queryTimes(ranges, search, Date.now())

export function useIngress(metricsQuery: MetricsQuery) {
  const params = { code: metricsQuery.code, squidId: metricsQuery.squidId }
  return useQuery({
    queryKey: ['metrics.getSquidIngress', { params }, metricsQuery.search] as const,
    queryFn: ({ signal }) => callApi('metrics.getSquidIngress', { params, query: timesOf(metricsQuery) }, signal),
    ...pollOptions(metricsQuery),
  })
}

export function useUsage(metricsQuery: MetricsQuery) {
  const params = { code: metricsQuery.code, squidId: metricsQuery.squidId }
  return useQuery({
    queryKey: ['metrics.getSquidUsage', { params }, metricsQuery.search] as const,
    queryFn: ({ signal }) => callApi('metrics.getSquidUsage', { params, query: timesOf(metricsQuery) }, signal),
    ...pollOptions(metricsQuery),
  })
}

/** Deployments since the start of the range. */
export function useDeploymentsSince(metricsQuery: MetricsQuery) {
  return useQuery({
    queryKey: [
      'deployments.list',
      { params: { code: metricsQuery.code } },
      'since',
      metricsQuery.squidId,
      metricsQuery.search,
    ] as const,
    queryFn: ({ signal }) => deploymentsSince(metricsQuery, Date.parse(timesOf(metricsQuery).from ?? ''), signal),
    ...pollOptions(metricsQuery),
  })
}
