import { AsyncLocalStorage } from 'node:async_hooks'
import { minutes } from '../clock.ts'

/** How long to wait for the database, in milliseconds of real time. */
export type QueryTimeouts = {
  /** Maximum wait for a connection from the pool. */
  connectMs: () => number
  /** After this long, a query triggers a check of whether the database still responds. */
  checkAfterMs: number
  /** Maximum time of that check. */
  checkMs: number
  /** Maximum time of one query. */
  queryMs: number
}

/** For background work, which may be slow but must still notice that the database server has vanished. */
const background: QueryTimeouts = {
  connectMs: () => 30_000,
  checkAfterMs: 10_000,
  checkMs: 5_000,
  queryMs: Infinity,
}

const requestMs = 2_500
const store = new AsyncLocalStorage<QueryTimeouts>()

export const queryTimeouts = (): QueryTimeouts => store.getStore() ?? background

/**
 * Runs `work` with the timeouts of an interactive request: an unreachable database is detected in less than three seconds, while
 * a query that is merely slow may take `queryMs`.
 */
export function withRequestTimeouts<T>(work: () => PromiseLike<T>, queryMs = 20_000): Promise<T> {
  const untilMs = performance.now() + requestMs
  const connectMs = () => Math.max(500, untilMs - performance.now())
  // Awaited inside the scope, since a drizzle query starts only when it is awaited.
  return store.run({ connectMs, checkAfterMs: 1_000, checkMs: 1_000, queryMs }, async () => await work())
}

/** The same, for requests that transfer a lot of data, such as exports and uploads. */
export const withLongRequestTimeouts = <T>(work: () => PromiseLike<T>): Promise<T> =>
  withRequestTimeouts(work, minutes(10))
