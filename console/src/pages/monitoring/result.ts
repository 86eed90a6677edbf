import type { MonitoringSeries } from '@shoal/contract'

/** The result of one query, stored by column: this takes a tenth of the objects of the wire format. */
export type MonitoringResult = {
  /** Start times of the points, in seconds. */
  times: number[]
  series: Line[]
  /** The time between two points; 0 if there is only one point. */
  bucketSeconds: number
  /** Whether the last point is still being counted. */
  isLastIncomplete: boolean
}

/** One container of one version. `id` is `name@slot container`. */
export type Line = {
  id: string
  squid: string
  container: string
  tags: string[]
  values: (number | null)[]
}

/** Converts the wire format. Series without a name are omitted: their version is being deleted. */
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
