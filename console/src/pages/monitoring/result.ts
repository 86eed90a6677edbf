import type { MonitoringSeries } from '@shoal/contract'

/** The result of one query, stored by column, so that it consists of a tenth as many objects as the response. */
export type MonitoringResult = {
  /** Start times of the points, in Unix seconds, ascending. */
  times: number[]
  series: Line[]
  /** The time between two points; 0 if there is only one point. */
  bucketSeconds: number
  /** Whether the last point is still being counted. */
  isLastIncomplete: boolean
}

/** The values of one container of one version. `id` is `name@slot container`, `squid` is `name@slot`. */
export type Line = {
  id: string
  squid: string
  container: string
  tags: string[]
  values: (number | null)[]
}

/** Converts a response. Omits series without a name, because their version is being deleted. `toMs` is the end of the requested time. */
export function monitoringResultOf(series: readonly MonitoringSeries[], toMs: number): MonitoringResult {
  const namedSeries = series.filter(({ labels }) => labels.squid_name !== '')
  const times = namedSeries[0]?.values.map(({ t }) => t) ?? []
  const [first = 0, second = first] = times
  const bucketSeconds = second - first
  return {
    times,
    bucketSeconds,
    isLastIncomplete: ((times.at(-1) ?? 0) + bucketSeconds) * 1000 > toMs,
    series: namedSeries.map(({ labels: { squid_name: squid, container, squid_tags }, values }) => ({
      id: `${squid} ${container}`,
      squid,
      container,
      tags: squid_tags === '' ? [] : squid_tags.split(','),
      values: values.map(({ v }) => v),
    })),
  }
}
