import { keepPreviousData } from '@tanstack/react-query'
import { qComputed } from '../../api/computed.ts'
import { deploymentsSince } from '../../api/deployments.ts'
import { callApi } from '../../api/query.ts'
import { queryTimes, shortenedStartMs, isCustom, type RangeSearch } from '../../components/time-range/time-range.ts'
import { ranges } from './ranges.ts'

/** Poll interval of metrics (spec 9). */
const pollMs = 10_000

export type MetricsQuery = {
  code: string
  squidId: string
  search: RangeSearch
  /** When the version was created. */
  createdAtMs: number
}

/** A range that ends now is polled; a past range does not change. */
function pollOptions({ search }: MetricsQuery) {
  const hasEnded = isCustom(search) && search.to !== undefined && Date.parse(search.to) <= Date.now()
  return {
    refetchInterval: hasEnded ? (false as const) : pollMs,
    placeholderData: keepPreviousData,
  }
}

function timesOf({ search, createdAtMs }: MetricsQuery) {
  const startMs = shortenedStartMs(ranges, search, createdAtMs, Date.now())
  return startMs === null ? queryTimes(ranges, search, Date.now()) : { from: new Date(startMs).toISOString() }
}

/** The requests to the version and their latencies, by bucket. */
export function ingressQuery(metricsQuery: MetricsQuery) {
  const { code, squidId, search } = metricsQuery
  const params = { code, squidId }
  return qComputed(
    'metrics.getSquidIngress',
    { params, search },
    (signal) => callApi('metrics.getSquidIngress', { params, query: timesOf(metricsQuery) }, signal),
    pollOptions(metricsQuery),
  )
}

/** The CPU and memory that the version used, by bucket. */
export function usageQuery(metricsQuery: MetricsQuery) {
  const { code, squidId, search } = metricsQuery
  const params = { code, squidId }
  return qComputed(
    'metrics.getSquidUsage',
    { params, search },
    (signal) => callApi('metrics.getSquidUsage', { params, query: timesOf(metricsQuery) }, signal),
    pollOptions(metricsQuery),
  )
}

/** Deployments of the version since the start of the range, newest first. */
export function deploymentsQuery(metricsQuery: MetricsQuery) {
  const { code, squidId, search } = metricsQuery
  return qComputed(
    'deployments.list',
    { params: { code }, since: search, squidId },
    (signal) => deploymentsSince(metricsQuery, Date.parse(timesOf(metricsQuery).from ?? ''), signal),
    pollOptions(metricsQuery),
  )
}
