import { ApiError } from '@shoal/contract'
import { useSyncExternalStore } from 'react'

/** Failures closer together are those of one round: a page asks several questions at once. */
const burstMs = 1000
const minFailures = 2

type Outage = { failures: number; sinceMs: number; lastMs: number }

let outage: Outage | null = null
const listeners = new Set<() => void>()

/** The server, its database, or the network does not answer; asking again later may help. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 502 && error.status <= 504
  // What `fetch` throws when no answer came.
  return error instanceof TypeError
}

/** Notes that a question had an answer. True when the connection was lost until now. */
export function recordResponse(): boolean {
  const wasDisconnected = disconnectedSinceMs() !== null
  const hadFailed = outage !== null
  outage = null
  if (hadFailed) notifyListeners()
  return wasDisconnected
}

export function recordFailure(nowMs = Date.now()): void {
  if (outage && nowMs - outage.lastMs < burstMs) return
  outage = { failures: (outage?.failures ?? 0) + 1, sinceMs: outage?.sinceMs ?? nowMs, lastMs: nowMs }
  notifyListeners()
}

/** A question went outage, once or more often. */
export const hasFailed = (): boolean => outage !== null

/** When the first of at least two outage rounds was, in milliseconds; null while the connection is fine. */
export const disconnectedSinceMs = (): number | null =>
  outage && outage.failures >= minFailures ? outage.sinceMs : null

function notifyListeners(): void {
  for (const listener of listeners) listener()
}

export function onConnectionChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useDisconnectedSince = (): number | null => useSyncExternalStore(onConnectionChange, disconnectedSinceMs)
