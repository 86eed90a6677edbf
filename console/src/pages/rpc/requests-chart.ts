import type { RpcChainDetails } from '@shoal/contract'
import type { ChartData } from '../../components/chart/chart-data.ts'

type Details = Pick<RpcChainDetails, 'metrics' | 'timeGroup'>

/** The number of methods that have a separate series; the others are merged, if there are at least two. */
const maxMethods = 5
const days = 7
const secondsOf = { Hour: 3_600, Day: 86_400 }

/** The requests of each method in the last seven days, the most used method first. Buckets without requests are zero, not gaps. */
export function requestsChart({ metrics, timeGroup }: Details, nowMs: number): ChartData {
  const totals = new Map<string, number>()
  for (const { method, requests } of metrics) totals.set(method, (totals.get(method) ?? 0) + requests)
  const methods = [...totals].sort((a, b) => b[1] - a[1]).map(([method]) => method)
  const topMethods = methods.length > maxMethods + 1 ? methods.slice(0, maxMethods) : methods
  const labels = topMethods.length < methods.length ? [...topMethods, 'Other'] : topMethods
  const bucketSeconds = secondsOf[timeGroup]
  const endSeconds = Math.floor(nowMs / 1000 / bucketSeconds) * bucketSeconds
  const startSeconds = endSeconds - days * 86_400
  const count = (endSeconds - startSeconds) / bucketSeconds + 1
  const values = labels.map(() => Array.from({ length: count }, () => 0))
  for (const { ts, method, requests } of metrics) {
    const series = values[topMethods.includes(method) ? topMethods.indexOf(method) : labels.length - 1]
    const bucket = Math.round((Date.parse(ts) / 1000 - startSeconds) / bucketSeconds)
    if (series?.[bucket] !== undefined) series[bucket] = series[bucket] + requests
  }
  if (metrics.length === 0) return { times: [], series: [] }
  return {
    times: Array.from({ length: count }, (_, index) => startSeconds + index * bucketSeconds),
    bucketSeconds,
    series: labels.map((label, index) => ({ label, kind: 'bars', values: values[index] ?? [] })),
  }
}
