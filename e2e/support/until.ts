import { setTimeout as pause } from 'node:timers/promises'

/** Asks again and again until the answer is truthy; fails with `what` when it is not within `withinMs`. */
export async function until<T>(ask: () => Promise<T> | T, what: string, withinMs = 60_000): Promise<NonNullable<T>> {
  const deadline = performance.now() + withinMs
  let last: unknown
  while (performance.now() < deadline) {
    const answer = await ask()
    if (answer) return answer
    last = answer
    await pause(100)
  }
  throw new Error(`Not within ${withinMs / 1000} s: ${what} (last answer: ${JSON.stringify(last)})`)
}
