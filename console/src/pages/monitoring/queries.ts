import type { MonitoringQuery } from '@shoal/contract'
import { keepPreviousData } from '@tanstack/react-query'
import { qComputed } from '../../api/computed.ts'
import { deploymentsSince } from '../../api/deployments.ts'
import { callApi } from '../../api/query.ts'
import { monitoringResultOf } from './result.ts'
import { timesOf, type TimeSpan } from './filters.ts'

const pollMs = 30_000
/** The maximum time between the measurement of a sample and its arrival in the database. */
const maxSampleDelayMs = 60_000

/** A span that includes the present is polled; the past does not change. */
const refetchIntervalOf = (timeSpan: TimeSpan) => () =>
  timesOf(timeSpan, Date.now()).toMs + maxSampleDelayMs > Date.now() ? pollMs : false

const queryTimesOf = (timeSpan: TimeSpan) => {
  const { fromMs, toMs } = timesOf(timeSpan, Date.now())
  return { fromMs, toMs, from: new Date(fromMs).toISOString(), to: new Date(toMs).toISOString() }
}

/**
 * The data of one chart. The query computes the times when it is sent, and they are not in its key, so that the previous data stays
 * on screen during a refetch. Structural sharing is off because every value changes.
 */
export const seriesQuery = (code: string, query: MonitoringQuery, timeSpan: TimeSpan) =>
  qComputed(
    'monitoring.query',
    { params: { code, query }, query: timeSpan },
    async (signal) => {
      const { from, to, toMs } = queryTimesOf(timeSpan)
      const series = await callApi('monitoring.query', { params: { code, query }, query: { from, to } }, signal)
      return monitoringResultOf(series, Math.min(toMs, Date.now()))
    },
    { refetchInterval: refetchIntervalOf(timeSpan), structuralSharing: false, placeholderData: keepPreviousData },
  )

/** The deployments of the time span, newest first. */
export const deploymentsQuery = (code: string, timeSpan: TimeSpan) =>
  qComputed(
    'deployments.list',
    { params: { code }, since: timeSpan },
    (signal) => deploymentsSince({ code }, queryTimesOf(timeSpan).fromMs, signal),
    { refetchInterval: refetchIntervalOf(timeSpan), placeholderData: keepPreviousData },
  )
