import type { AlertChannel } from '@shoal/contract'
import { hours, minutes } from '../../../clock.ts'

/** Delays after each failed attempt: eight attempts within a day. */
export const retryDelaysMs = [10_000, minutes(1), minutes(5), minutes(30), hours(2), hours(6), hours(15)]
/** A longer `Retry-After` is shortened to this. */
const maxRetryAfterMs = hours(6)

/** Returns when to retry after `tries` attempts; null when no attempts are left. */
export function nextAttemptAt(tries: number, now: Date, retryAfterMs: number | null): Date | null {
  const delayMs = retryDelaysMs[tries - 1]
  if (delayMs === undefined) return null
  return new Date(now.getTime() + Math.max(delayMs, Math.min(retryAfterMs ?? 0, maxRetryAfterMs)))
}

/** More messages than this within `stormWindowMs` are a storm: email and Slack channels then receive digests. */
export const stormThreshold = 20
/** The period in which messages are counted to detect a storm, and the maximum delay of a digest. */
export const stormWindowMs = minutes(1)

/** Minimum time that a delivery waits for an earlier one about the same alert. */
const minBlockedMs = 1_000

type PendingDelivery = {
  id: number
  eventId: number | null
  tries: number
  createdAt: Date
  /** When the running attempt should have ended; if none is running, when to retry. */
  nextTryAt: Date | null
  jobId: string | null
}

/**
 * Returns the pending deliveries of a channel that may be sent now, oldest first: those of the job, those never attempted (even if they
 * wait for a digest), and those whose retry is due. Excludes deliveries that another job is sending or that wait for a retry, and later
 * messages about the same alerts.
 */
export function dueDeliveries<D extends PendingDelivery>(pending: D[], jobId: string, now: Date): D[] {
  const blockedEvents = new Set<number>()
  return pending.filter((delivery) => {
    const { eventId, tries, nextTryAt } = delivery
    const isDue = delivery.jobId === jobId || tries === 0 || (nextTryAt !== null && nextTryAt <= now)
    const isUnblocked = eventId === null || !blockedEvents.has(eventId)
    if (!isDue && eventId !== null) blockedEvents.add(eventId)
    return isDue && isUnblocked
  })
}

/** The deliveries that a job sends now, and those that it holds back until a time. */
type Batch<D> = { send: D[]; hold: D[]; until: Date }

/**
 * Decides which pending deliveries of its channel a job sends. `pending` is sorted by id; `recent` is the number of deliveries created in
 * the last minute. A job sends its own deliveries; in a storm, a job of an email or Slack channel sends all due deliveries once a minute.
 */
export function nextBatch<D extends PendingDelivery>(
  type: AlertChannel['type'],
  pending: D[],
  { jobId, recent, now }: { jobId: string; recent: number; now: Date },
): Batch<D> {
  const ownDeliveries = pending.filter((delivery) => delivery.jobId === jobId)
  const due = dueDeliveries(pending, jobId, now)
  const isStorm = type !== 'webhook' && (due.length > stormThreshold || recent > stormThreshold)
  if (isStorm && due.some((delivery) => ownDeliveries.includes(delivery))) {
    const until = new Date(Math.min(...due.map(({ createdAt }) => createdAt.getTime())) + stormWindowMs)
    if (until > now) return { send: [], hold: ownDeliveries, until }
    const hold = ownDeliveries.filter((delivery) => !due.includes(delivery))
    return { send: due, hold, until: unblockedAt(blockersOf(hold, pending), now) }
  }
  const hold = ownDeliveries.filter((delivery) => blockersOf([delivery], pending).length > 0)
  return {
    send: ownDeliveries.filter((delivery) => !hold.includes(delivery)),
    hold,
    until: unblockedAt(blockersOf(hold, pending), now),
  }
}

/** Returns the deliveries that must be sent before `blocked`: earlier ones of other jobs about the same alerts. */
const blockersOf = <D extends PendingDelivery>(blocked: D[], pending: D[]): D[] =>
  pending.filter((earlier) =>
    blocked.some(
      ({ id, eventId, jobId }) =>
        eventId !== null && earlier.eventId === eventId && earlier.id < id && earlier.jobId !== jobId,
    ),
  )

/**
 * Returns when to check the blocked deliveries again: when all of the blocking ones should have ended or are due to be retried. If one
 * ends earlier, its job queues the deliveries that it blocked.
 */
const unblockedAt = (blockers: PendingDelivery[], now: Date): Date =>
  new Date(Math.max(now.getTime() + minBlockedMs, ...blockers.map(({ nextTryAt }) => nextTryAt?.getTime() ?? 0)))
