import { ApiError } from '@shoal/contract'
import { useSyncExternalStore } from 'react'

/** Failures closer together are those of one round: a page asks several questions at once. */
const roundMs = 1000
const failuresUntilLost = 2

type Unanswered = { failures: number; sinceMs: number; lastMs: number }

let unanswered: Unanswered | null = null
const listeners = new Set<() => void>()

/** The server, its database, or the network does not answer; asking again later may help. */
export function isAway(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 502 && error.status <= 504
  // What `fetch` throws when no answer came.
  return error instanceof TypeError
}

/** Notes that a question had an answer. True when the connection was lost until now. */
export function noteAnswer(): boolean {
  const wasLost = lostSinceMs() !== null
  const wasUnanswered = unanswered !== null
  unanswered = null
  if (wasUnanswered) tell()
  return wasLost
}

export function noteNoAnswer(nowMs = Date.now()): void {
  if (unanswered && nowMs - unanswered.lastMs < roundMs) return
  unanswered = { failures: (unanswered?.failures ?? 0) + 1, sinceMs: unanswered?.sinceMs ?? nowMs, lastMs: nowMs }
  tell()
}

/** A question went unanswered, once or more often. */
export const isUnanswered = (): boolean => unanswered !== null

/** When the first of at least two unanswered rounds was, in milliseconds; null while the connection is fine. */
export const lostSinceMs = (): number | null =>
  unanswered && unanswered.failures >= failuresUntilLost ? unanswered.sinceMs : null

function tell(): void {
  for (const listener of listeners) listener()
}

export function onConnection(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useLostSince = (): number | null => useSyncExternalStore(onConnection, lostSinceMs)
