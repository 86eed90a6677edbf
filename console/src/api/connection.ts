import { ApiError } from '@shoal/contract'
import { useSyncExternalStore } from 'react'

/** Failures within this time count as one, because a page sends several requests in parallel. */
const burstMs = 1000
const minFailures = 2

type Outage = { failures: number; sinceMs: number; lastMs: number }

let outage: Outage | null = null
const listeners = new Set<() => void>()

/** True if the operator has announced maintenance. The server then refuses only the request for the session; all other calls succeed. */
export const isMaintenance = (error: unknown): boolean => error instanceof ApiError && error.body.code === 'MAINTENANCE'

/** True if the server, its database or the network is unreachable, so that a later retry may succeed. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof ApiError) return error.status >= 502 && error.status <= 504 && !isMaintenance(error)
  // `fetch` throws a TypeError when no response arrives.
  return error instanceof TypeError
}

/** Whether the server currently serves the console's files. */
export const isServerResponding = (): Promise<boolean> =>
  fetch('/', { method: 'HEAD', cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  )

/** Records a response. Returns true if it ends an outage that the connection bar showed. */
export function recordResponse(): boolean {
  const wasDisconnected = disconnectedSinceMs() !== null
  const hadFailed = outage !== null
  outage = null
  if (hadFailed) notifyListeners()
  return wasDisconnected
}

/** Records a request that failed because the server is unreachable (`isUnreachable`). */
export function recordFailure(nowMs = Date.now()): void {
  if (outage && nowMs - outage.lastMs < burstMs) return
  outage = { failures: (outage?.failures ?? 0) + 1, sinceMs: outage?.sinceMs ?? nowMs, lastMs: nowMs }
  notifyListeners()
}

/** True from the first failed request until a response arrives. */
export const hasFailed = (): boolean => outage !== null

/** The time of the first failure in milliseconds, once there were two bursts of failures; null before and while connected. */
export const disconnectedSinceMs = (): number | null =>
  outage && outage.failures >= minFailures ? outage.sinceMs : null

function notifyListeners(): void {
  for (const listener of listeners) listener()
}

/** Calls `listener` after each change of the connection. Returns a function that removes the listener. */
export function onConnectionChange(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** `disconnectedSinceMs` as React state. */
export const useDisconnectedSince = (): number | null => useSyncExternalStore(onConnectionChange, disconnectedSinceMs)
