import { until } from '@shoal/runtime/until'

export { until }

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
