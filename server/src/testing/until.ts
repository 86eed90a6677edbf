import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for something to become true; its own error when it does not. */
export async function until<T>(check: () => Promise<T> | T, withinMs = 10_000): Promise<T> {
  const endMs = performance.now() + withinMs
  while (true) {
    try {
      return await check()
    } catch (error) {
      if (performance.now() > endMs) throw error
      await sleep(10)
    }
  }
}
