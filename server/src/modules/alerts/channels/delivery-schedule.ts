import type { AlertChannel } from '@shoal/contract'
import { hours, minutes } from '../../../clock.ts'

/** Delays after each failed attempt: eight attempts within a day. */
export const retryDelaysMs = [10_000, minutes(1), minutes(5), minutes(30), hours(2), hours(6), hours(15)]
/** The maximum of `Retry-After`. */
const maxRetryAfterMs = hours(6)

/** When to retry after this many attempts; null when there are no attempts left. */
export function nextTry(tries: number, now: Date, retryAfterMs: number | null): Date | null {
  const wait = retryDelaysMs[tries - 1]
  if (wait === undefined) return null
  return new Date(now.getTime() + Math.max(wait, Math.min(retryAfterMs ?? 0, maxRetryAfterMs)))
}

/** More messages than this within `stormMs` are a storm, which e-mail and Slack receive in digests. */
export const stormAbove = 20
export const stormMs = minutes(1)

type PendingDelivery = { eventId: number | null; tries: number; createdAt: Date; nextTryAt: Date | null }

/**
 * The pending deliveries, oldest first, that may be sent now. Excludes those that another worker is sending or that wait for a retry,
 * and later messages about the same alert. Includes those held back for a digest.
 */
export function dueDeliveries<W extends PendingDelivery>(pending: W[], now: Date): W[] {
  const blockedEvents = new Set<number>()
  return pending.filter(({ eventId, tries, nextTryAt }) => {
    const isDue = tries === 0 || (nextTryAt !== null && nextTryAt <= now)
    const isFree = eventId === null || !blockedEvents.has(eventId)
    if (!isDue && eventId !== null) blockedEvents.add(eventId)
    return isDue && isFree
  })
}

/**
 * Returns the messages that are due for a channel; `recent` counts those of the last minute. Webhooks receive every message. E-mail
 * and Slack receive one message a minute during a storm.
 */
export function nextBatch<W extends PendingDelivery>(
  type: AlertChannel['type'],
  due: W[],
  recent: number,
  now: Date,
): { send: W[] } | { hold: W[]; until: Date } {
  const isStorm = due.length > stormAbove || recent > stormAbove
  if (type === 'webhook' || !isStorm) return { send: firstOf(due) }
  const until = new Date(Math.min(...due.map(({ createdAt }) => createdAt.getTime())) + stormMs)
  return until > now ? { hold: due, until } : { send: due }
}

/** The next message: new ones before retries, so that a failing one does not delay others, and the opening of an alert before its end. */
function firstOf<W extends PendingDelivery>(due: W[]): W[] {
  const seenEvents = new Set<number>()
  const isFirst = ({ eventId }: W) => {
    if (eventId === null || seenEvents.has(eventId)) return eventId === null
    seenEvents.add(eventId)
    return true
  }
  return due
    .filter(isFirst)
    .toSorted((a, b) => a.tries - b.tries)
    .slice(0, 1)
}
