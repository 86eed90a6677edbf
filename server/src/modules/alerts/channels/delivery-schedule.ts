import type { AlertChannel } from '@shoal/contract'
import { hours, minutes } from '../../../clock.ts'

/** How long after each try that failed the next one comes: eight tries within a day. */
export const retryDelaysMs = [10_000, minutes(1), minutes(5), minutes(30), hours(2), hours(6), hours(15)]
/** The maximum of `Retry-After`. */
const maxRetryAfterMs = hours(6)

/** When to try again after this many tries; null when it has been tried often enough. */
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
 * Of all that is not settled, in the order it came, what may be sent now: not what another worker sends just now, what is to be
 * tried later, and what comes after one of these in the story of one alert. What is held back for a digest may.
 */
export function dueDeliveries<W extends PendingDelivery>(pending: W[], now: Date): W[] {
  const heldUp = new Set<number>()
  return pending.filter(({ eventId, tries, nextTryAt }) => {
    const isDue = tries === 0 || (nextTryAt !== null && nextTryAt <= now)
    const isFree = eventId === null || !heldUp.has(eventId)
    if (!isDue && eventId !== null) heldUp.add(eventId)
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

/** New messages come first, so that one that fails holds up no other; the opening of an alert comes before its end. */
function firstOf<W extends PendingDelivery>(due: W[]): W[] {
  const begun = new Set<number>()
  const isFirst = ({ eventId }: W) => {
    if (eventId === null || begun.has(eventId)) return eventId === null
    begun.add(eventId)
    return true
  }
  return due
    .filter(isFirst)
    .toSorted((a, b) => a.tries - b.tries)
    .slice(0, 1)
}
