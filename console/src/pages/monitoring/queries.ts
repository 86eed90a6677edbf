import type { MonitoringQuery } from '@shoal/contract'
import { keepPreviousData, queryOptions } from '@tanstack/react-query'
import { deploymentsSince } from '../../api/deployments.ts'
import { callApi } from '../../api/query.ts'
import { answerOf } from './answer.ts'
import { timesOf, type Stretch } from './filters.ts'

const everyMs = 30_000
/** What happened a moment ago may be sampled yet. */
const settledAfterMs = 60_000

/** Asked again and again while the stretch goes on; the past is settled. */
const pace = (stretch: Stretch) => () =>
  timesOf(stretch, Date.now()).toMs + settledAfterMs > Date.now() ? everyMs : false

const asked = (stretch: Stretch) => {
  const { fromMs, toMs } = timesOf(stretch, Date.now())
  return { fromMs, toMs, from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

/**
 * One chart's answer. The times are those of the moment it is asked, not of the key: so the former answer stays on screen,
 * also when asking again fails. Nothing in it is ever as it was, so nothing is compared with the former one.
 */
export const seriesQuery = (code: string, query: MonitoringQuery, stretch: Stretch) =>
  queryOptions({
    queryKey: ['monitoring.query', { params: { code, query }, query: stretch }] as const,
    queryFn: async ({ signal }) => {
      const { from, to, toMs } = asked(stretch)
      const series = await callApi('monitoring.query', { params: { code, query }, query: { from, to } }, signal)
      return answerOf(series, Math.min(toMs, Date.now()))
    },
    refetchInterval: pace(stretch),
    structuralSharing: false,
    placeholderData: keepPreviousData,
  })

/** The deployments of the stretch, newest first. */
export const deploymentsQuery = (code: string, stretch: Stretch) =>
  queryOptions({
    queryKey: ['deployments.list', { params: { code } }, 'since', stretch] as const,
    queryFn: ({ signal }) => deploymentsSince({ code }, asked(stretch).fromMs, signal),
    refetchInterval: pace(stretch),
    placeholderData: keepPreviousData,
  })
