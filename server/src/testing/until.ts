import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Repeats `check` until it succeeds, and returns its result. The default timeout suits a machine under heavy load.
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

/** Repeats `read` until its value passes `isDone`, and returns that value. @throws Error with the last value after `withinMs` */
export const untilValue = <T>(
  read: () => Promise<T> | T,
  isDone: (value: T) => boolean,
  withinMs?: number,
): Promise<T> =>
  until(async () => {
    const value = await read()
    if (!isDone(value)) throw new Error(`The condition was not met in time: ${JSON.stringify(value)}`)
    return value
  }, withinMs)
