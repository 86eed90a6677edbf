import type { MonitoringSeries } from '@shoal/contract'

/** The result of one query by column, which needs a tenth of the objects of the wire format. */
export type MonitoringResult = {
  /** Start times of the points, in seconds. */
  times: number[]
  series: Line[]
  /** Length of a point; 0 if unknown, with a single one. */
  bucketSeconds: number
  /** The last point is still being counted. */
  isLastOpen: boolean
}

/** One container of one version. `id` is `name@slot container`. */
export type Line = {
  id: string
  squid: string
  container: string
  tags: string[]
  values: (number | null)[]
}

/** Series of a version that is being deleted have no name and are left out. */
export function monitoringResultOf(series: readonly MonitoringSeries[], toMs: number): MonitoringResult {
  const named = series.filter(({ labels }) => labels.squid_name !== '')
  const times = named[0]?.values.map(({ t }) => t) ?? []
  const [first = 0, second = first] = times
  const bucketSeconds = second - first
  return {
    times,
    bucketSeconds,
    isLastOpen: ((times.at(-1) ?? 0) + bucketSeconds) * 1000 > toMs,
    series: named.map(({ labels: { squid_name: squid, container, squid_tags }, values }) => ({
      id: `${squid} ${container}`,
      squid,
      container,
      tags: squid_tags === '' ? [] : squid_tags.split(','),
      values: values.map(({ v }) => v),
    })),
  }
}
