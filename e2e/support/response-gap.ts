import { setTimeout as delay } from 'node:timers/promises'

const pollMs = 50
const maxWaitMs = 300_000

/**
 * Sends requests one after another while `work` runs, and then until one succeeds. `succeeds` sends one, and returns whether it succeeded.
 * Returns the longest time, in milliseconds, from the end of a successful request to the end of the next successful one, and the number of
 * failed requests. @throws Error if none succeeds for five minutes
 */
export async function measureGap(
  succeeds: () => Promise<boolean>,
  work: () => Promise<unknown>,
): Promise<{ gapMs: number; failed: number }> {
  let [isWorking, gapMs, failed] = [true, 0, 0]
  let lastMs = performance.now()
  const poll = async () => {
    for (;;) {
      const isLast = !isWorking
      if (await succeeds()) {
        gapMs = Math.max(gapMs, performance.now() - lastMs)
        lastMs = performance.now()
        if (isLast) return
      } else failed++
      if (performance.now() - lastMs > maxWaitMs) throw new Error('No request has succeeded for five minutes.')
      await delay(pollMs)
    }
  }
  const polling = poll()
  await Promise.all([work().finally(() => (isWorking = false)), polling])
  return { gapMs: Math.round(gapMs), failed }
}
