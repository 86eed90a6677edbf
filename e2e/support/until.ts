import { setTimeout as pause } from 'node:timers/promises'

/** Polls until the result is truthy, and returns it. @throws with `what` after `withinMs` */
export async function until<T>(poll: () => Promise<T> | T, what: string, withinMs = 60_000): Promise<NonNullable<T>> {
  const deadline = performance.now() + withinMs
  let last: unknown
  while (performance.now() < deadline) {
    const result = await poll()
    if (result) return result
    last = result
    await pause(100)
  }
  throw new Error(`Not within ${withinMs / 1000} s: ${what} (last result: ${JSON.stringify(last)})`)
}
