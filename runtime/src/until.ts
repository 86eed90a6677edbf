import { vi } from 'vitest'

/**
 * For tests. Repeats `check` until it succeeds, and returns its result. A machine under load may need many seconds for what otherwise
 * takes a few milliseconds.
 * @throws the last error of `check` after a minute
 */
export const until = <T>(check: () => Promise<T> | T): Promise<T> =>
  vi.waitFor<T>(check, { timeout: 60_000, interval: 20 })
