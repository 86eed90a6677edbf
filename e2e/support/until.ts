import { setTimeout as pause } from 'node:timers/promises'

/** Polls until the result is truthy, and returns it. @throws the error of `poll` immediately; after `withinMs`, an error with `condition` in the message */
export async function until<T>(
  poll: () => Promise<T> | T,
  condition: string,
  withinMs = 120_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + withinMs
  let lastResult: unknown
  while (performance.now() < deadline) {
    const result = await poll()
    if (result) return result
    lastResult = result
    await pause(100)
  }
  throw new Error(`Not within ${withinMs / 1000} s: ${condition} (last result: ${JSON.stringify(lastResult)})`)
}
