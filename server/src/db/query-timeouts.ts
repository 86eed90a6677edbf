import { AsyncLocalStorage } from 'node:async_hooks'
import { minutes } from '../clock.ts'

/** How long the database is waited for, in milliseconds of real time. */
export type QueryTimeouts = {
  /** For a free connection. */
  connectMs: () => number
  /** A question that takes longer makes us check whether the database answers at all. */
  checkAfterMs: number
  /** How long that check may take. */
  checkMs: number
  /** The longest question. */
  queryMs: number
}

/** Of background work: it may be slow, and has to notice all the same that its server has vanished. */
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
 * Runs `work` with the patience of a person who waits: a database that is away is noticed in less than three seconds. A question
 * that is merely slow may take `questionMs`.
 */
export function withRequestTimeouts<T>(work: () => PromiseLike<T>, queryMs = 20_000): Promise<T> {
  const untilMs = performance.now() + requestMs
  const connectMs = () => Math.max(500, untilMs - performance.now())
  // Awaited within: what drizzle answers asks only when it is waited for.
  return store.run({ connectMs, checkAfterMs: 1_000, checkMs: 1_000, queryMs }, async () => await work())
}

/** The same for what takes long by nature, as exports and uploads. */
export const withLongRequestTimeouts = <T>(work: () => PromiseLike<T>): Promise<T> =>
  withRequestTimeouts(work, minutes(10))
