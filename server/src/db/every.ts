import { setTimeout as sleep } from 'node:timers/promises'

/** Returns early, and never throws, when the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

type EveryOptions = {
  ms: number
  /** `ms` between the beginnings of two rounds; otherwise between the end of one and the beginning of the next. */
  isFixedRate?: boolean
  /** What is said of a round that failed; the next one comes. */
  onError: (error: unknown) => void
}

/** Does `work` again and again until the signal aborts. A round under way is waited for; its failure is not told then. */
export async function every(
  signal: AbortSignal,
  { ms, isFixedRate: isRhythm = false, onError: failed }: EveryOptions,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    const startedMs = performance.now()
    try {
      await work()
    } catch (error) {
      if (!signal.aborted) failed(error)
    }
    const spentMs = isRhythm ? performance.now() - startedMs : 0
    await pause(Math.max(0, ms - spentMs), signal)
  }
}
