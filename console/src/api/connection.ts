import { ApiError } from '@shoal/contract'
import { createStore } from '../lib/store.ts'

/** Failures within this time count as one, because a page sends several requests in parallel. */
const burstMs = 1000
const minFailures = 2

type Outage = { failures: number; sinceMs: number; lastMs: number }

const outage = createStore<Outage | null>(null)

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
  if (hasFailed()) outage.set(null)
  return wasDisconnected
}

/** Records a request that failed because the server is unreachable (`isUnreachable`). */
export function recordFailure(nowMs = Date.now()): void {
  const { failures, sinceMs, lastMs } = outage.get() ?? { failures: 0, sinceMs: nowMs, lastMs: -Infinity }
  if (nowMs - lastMs >= burstMs) outage.set({ failures: failures + 1, sinceMs, lastMs: nowMs })
}

/** True from the first failed request until a response arrives. */
export const hasFailed = (): boolean => outage.get() !== null

/** The time of the first failure in milliseconds, once there were two bursts of failures; null before and while connected. */
export const disconnectedSinceMs = (): number | null => sinceMsOf(outage.get())

const sinceMsOf = (current: Outage | null) => (current && current.failures >= minFailures ? current.sinceMs : null)

/** Calls `listener` after each change of the connection. Returns a function that removes the listener. */
export const onConnectionChange = outage.subscribe

/** `disconnectedSinceMs` as React state. */
export const useDisconnectedSince = (): number | null => sinceMsOf(outage.use())
