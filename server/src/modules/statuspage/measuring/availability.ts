/** The measurements of one UTC day, or the sum of several days. */
export type Measurements = { requests: number; failures: number; upMs: number; downMs: number; hibernatedMs: number }

export type DayStatus = 'good' | 'degraded' | 'outage' | 'hibernated' | 'unknown'

/** Shares of failed requests, in percent, from which a day counts as degraded and as an outage. */
const degradedPercent = 0.1
const outagePercent = 5
/** Minutes without a healthy api from which a day counts as degraded and as an outage. */
const degradedMinutes = 1
const outageMinutes = 30

export const noMeasurements: Measurements = { requests: 0, failures: 0, upMs: 0, downMs: 0, hibernatedMs: 0 }

/** Returns the sum of the measurements of several days. */
export const addUp = (days: readonly Measurements[]): Measurements =>
  days.reduce(
    (sum, day) => ({
      requests: sum.requests + day.requests,
      failures: sum.failures + day.failures,
      upMs: sum.upMs + day.upMs,
      downMs: sum.downMs + day.downMs,
      hibernatedMs: sum.hibernatedMs + day.hibernatedMs,
    }),
    noMeasurements,
  )

/**
 * Returns the availability in percent, 0 to 100 with two decimals: the share of requests that did not fail; without any request,
 * the share of time with a healthy api, in which hibernated time does not count. Null if nothing was measured. Rounded down, so
 * that 100 means no failure.
 */
export function availabilityOf({ requests, failures, upMs, downMs }: Measurements): number | null {
  const [failed, total] = requests > 0 ? [failures, requests] : [downMs, upMs + downMs]
  if (total === 0) return null
  if (failed === 0) return 100
  return Math.min(99.99, Math.floor(((total - failed) / total) * 10_000) / 100)
}

/** Minutes without a healthy api, rounded up, so that an outage never shows as none. */
export const downMinutesOf = ({ downMs }: Pick<Measurements, 'downMs'>): number => Math.ceil(downMs / 60_000)

/** Returns the status that the page shows for a day. */
export function dayStatusOf(day: Measurements): DayStatus {
  const { requests, failures, upMs, downMs, hibernatedMs } = day
  if (requests === 0 && upMs + downMs === 0) return hibernatedMs > 0 ? 'hibernated' : 'unknown'
  const failedPercent = requests === 0 ? 0 : (failures / requests) * 100
  const minutesDown = downMs / 60_000
  if (failedPercent >= outagePercent || minutesDown >= outageMinutes) return 'outage'
  if (failedPercent >= degradedPercent || minutesDown >= degradedMinutes) return 'degraded'
  // A squid that was hibernated all day is shown as hibernated, even if it received requests.
  return upMs + downMs === 0 && hibernatedMs > 0 ? 'hibernated' : 'good'
}
