import { minutes } from '../../../clock.ts'
import type { ObservedApi } from '../progress/details-store.ts'
import type { Problem, RuleOf } from './rule.ts'

const apiDown: RuleOf<'api'> = {
  title: 'API down',
  explanation: 'The API of a version has not responded for a minute.',
  threshold: null,
  opensWhen: 'No replica of an API or of Hasura that should be running has responded for a minute.',
  appliesTo: 'api',
  holdMs: minutes(1),
  clearMs: minutes(1),
  isWarning: false,
  find: ({ apiReplicas, hasuraReplicas, image, apis, hasura }) =>
    image === null
      ? []
      : [
          ...(apiReplicas > 0 ? problemsOf('api', 'API', apis) : []),
          ...(hasuraReplicas > 0 ? problemsOf('hasura', 'Hasura', hasura) : []),
        ],
}

function problemsOf(container: string, title: string, replicas: ObservedApi[]): Problem[] {
  if (replicas.some((row) => row.isAvailable)) return []
  const sinceMs = replicas.map((row) => row.sinceMs)
  const cause = replicas.find((row) => row.reason !== null)?.reason ?? 'It is not running.'
  return [
    {
      severity: 'CRITICAL',
      container,
      label: `${title} is down`,
      reason: `${cause} It cannot be queried. Its log may show why.`,
      sinceMs: sinceMs.length > 0 ? Math.max(...sinceMs) : null,
    },
  ]
}

/** With fewer requests, the percentile is not reliable. */
const minRequests = 20
/** An open alert ends below this share of the threshold. */
const clearLatencyShare = 0.9

const apiSlow: RuleOf<'api'> = {
  title: 'API slow',
  explanation:
    'The 95th percentile of the latency of successful requests in the last five minutes is above this. Needs at least 20 requests.',
  threshold: { unit: 'ms', initial: 2000, min: 50, max: 60_000 },
  opensWhen:
    'The 95th percentile of the latency of successful requests in the last five minutes is above 2 s, if there were at least 20 requests.',
  appliesTo: 'api',
  holdMs: 0,
  clearMs: minutes(5),
  isWarning: false,
  find: ({ latency }, thresholdMs) => {
    if (!latency || latency.requests < minRequests || latency.p95Ms <= thresholdMs * clearLatencyShare) return []
    return [
      {
        severity: 'WARNING',
        container: 'api',
        label: 'API is slow',
        reason: `One in twenty requests takes longer than ${Math.round(latency.p95Ms)} ms. A larger profile, more replicas or an index in the schema may help.`,
        canOpenAlert: latency.p95Ms > thresholdMs,
      },
    ]
  },
}

export const apiRules = { API_DOWN: apiDown, API_SLOW: apiSlow }
