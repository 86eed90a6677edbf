import type { RpcChainDetails } from '@shoal/contract'
import type { ChartData } from '../../components/chart/chart-data.ts'

type Details = Pick<RpcChainDetails, 'metrics' | 'timeGroup'>

/** Methods with their own colour; the others are merged. */
const maxMethods = 5
const days = 7
const stepSeconds = { Hour: 3_600, Day: 86_400 }

/** Requests per method over the last seven days, the most used first. Buckets without requests are zero, not gaps. */
export function requestsChart({ metrics, timeGroup }: Details, nowMs: number): ChartData {
  const totals = new Map<string, number>()
  for (const { method, requests } of metrics) totals.set(method, (totals.get(method) ?? 0) + requests)
  const methods = [...totals].sort((a, b) => b[1] - a[1]).map(([method]) => method)
  const own = methods.length > maxMethods + 1 ? methods.slice(0, maxMethods) : methods
  const labels = own.length < methods.length ? [...own, 'Other'] : own
  const step = stepSeconds[timeGroup]
  const last = Math.floor(nowMs / 1000 / step) * step
  const first = last - days * 86_400
  const count = (last - first) / step + 1
  const values = labels.map(() => Array.from({ length: count }, () => 0))
  for (const { ts, method, requests } of metrics) {
    const series = values[own.includes(method) ? own.indexOf(method) : labels.length - 1]
    const at = Math.round((Date.parse(ts) / 1000 - first) / step)
    if (series?.[at] !== undefined) series[at] = series[at] + requests
  }
  if (metrics.length === 0) return { times: [], series: [] }
  return {
    times: Array.from({ length: count }, (_, index) => first + index * step),
    bucketSeconds: step,
    series: labels.map((label, index) => ({ label, kind: 'bars', values: values[index] ?? [] })),
  }
}
