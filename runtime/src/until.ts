import { setTimeout as sleep } from 'node:timers/promises'

/**
 * For tests of this package and of the server. Repeats `check` until it succeeds, and returns its result. The default timeout suits a
 * machine under heavy load, which may need many seconds for what otherwise takes a few milliseconds.
 * @throws the last error of `check` after `withinMs`
 */
export async function until<T>(check: () => Promise<T> | T, withinMs = 60_000): Promise<T> {
  const deadlineMs = performance.now() + withinMs
  while (true) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > deadlineMs) throw error
      await sleep(10)
    }
  }
}
