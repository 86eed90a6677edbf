import { AsyncLocalStorage } from 'node:async_hooks'
import { minutes } from '../clock.ts'

/** Timeouts of queries, in milliseconds of real time. */
export type QueryTimeouts = {
  /** Maximum wait for a connection from the pool. */
  connectMs: () => number
  /** The time after which a query triggers a check of whether the database still responds. */
  checkAfterMs: number
  /** Maximum time of that check. */
  checkMs: number
  /** Maximum time of one query. */
  queryMs: number
}

/** The timeouts of background work, which may be slow but must still detect that the database server has vanished. */
const backgroundTimeouts: QueryTimeouts = {
  connectMs: () => 30_000,
  checkAfterMs: 10_000,
  checkMs: 5_000,
  queryMs: Infinity,
}

/** The total time that the queries of a request may wait for connections; after it, each query waits for up to half a second. */
const requestConnectMs = 2_500
/** `owner`: whose share of the connections the queries use; null for the server's own. */
type Scope = QueryTimeouts & { owner: string | null }
const store = new AsyncLocalStorage<Scope | undefined>()

/** The timeouts that apply to queries of the current caller. */
export const queryTimeouts = (): QueryTimeouts => store.getStore() ?? backgroundTimeouts

/** The owner of the current request, such as its organization; null before `setQueryOwner`, and for background work. */
export const queryOwner = (): string | null => store.getStore()?.owner ?? null

/** The prefix of owners of requests that are not authenticated yet. */
export const admissionPrefix = 'admission:'

/** Makes the queries that authenticate the current request use the connections of its address. */
export const setAdmissionOwner = (address: string): void => setQueryOwner(`${admissionPrefix}${address}`)

/** Makes the later queries of the current request use the connections of this owner, of which each pool gives every owner a fair share. */
export function setQueryOwner(owner: string): void {
  const scope = store.getStore()
  if (scope) scope.owner = owner
}

/** Runs `work` with the timeouts of background work, for work that continues after the request that starts it. */
export const inBackground = <T>(work: () => T): T => store.run(undefined, work)

/**
 * Runs `work` with the timeouts of an interactive request: an unreachable database is detected in less than three seconds, while
 * a query that is merely slow may take `queryMs`.
 */
export function withRequestTimeouts<T>(work: () => PromiseLike<T>, queryMs = 20_000): Promise<T> {
  const deadlineMs = performance.now() + requestConnectMs
  const connectMs = () => Math.max(500, deadlineMs - performance.now())
  // Awaited inside the scope, since a drizzle query starts only when it is awaited.
  return store.run(
    { connectMs, checkAfterMs: 1_000, checkMs: 1_000, queryMs, owner: queryOwner() },
    async () => await work(),
  )
}

/** Like `withRequestTimeouts`, for requests that transfer a lot of data, such as exports and uploads. */
export const withLongRequestTimeouts = <T>(work: () => PromiseLike<T>): Promise<T> =>
  withRequestTimeouts(work, minutes(10))
