import { setTimeout as sleep } from 'node:timers/promises'

/** Repeats `check` until it succeeds, and returns its result. @throws the last error of `check` after `withinMs`. The default is a minute, since a machine under load may need many seconds for work that otherwise takes a few milliseconds */
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
