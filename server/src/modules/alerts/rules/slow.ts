import type { Finding } from '../../observing/index.ts'

/** Of the successful requests to a version in the last five minutes. */
export type Latency = { p95Ms: number; requests: number }

const minRequests = 20
/** What was slow is so until it is clearly quicker. */
const clearShare = 0.9

/** Null when the API of a version is quick enough, when there is no limit, or when too few have asked to say so. */
export function slowFinding(limitMs: number | null, latency: Latency | undefined): Finding | null {
  if (limitMs === null || !latency || latency.requests < minRequests) return null
  const { p95Ms } = latency
  if (p95Ms <= limitMs * clearShare) return null
  return {
    kind: 'API_SLOW',
    severity: 'WARNING',
    container: 'api',
    label: 'API is slow',
    reason: `One request of twenty takes longer than ${Math.round(p95Ms)} ms. A larger profile, more replicas or an index in the schema may help.`,
    sinceMs: null,
    holdMs: 0,
    isClear: p95Ms > limitMs,
  }
}
