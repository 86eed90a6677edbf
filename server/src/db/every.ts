import { setTimeout as sleep } from 'node:timers/promises'

/** Sleeps for `ms`, or until the signal aborts. Never throws. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

type EveryOptions = {
  ms: number
  /** If true, `ms` is the time between the starts of two runs; otherwise it is the pause after each run. */
  isFixedRate?: boolean
  /** Called when a run failed. The next run starts as usual. */
  onError: (error: unknown) => void
}

/** Repeats `work` until the signal aborts. A run in progress is awaited; errors after the abort are not reported. */
export async function every(
  signal: AbortSignal,
  { ms, isFixedRate = false, onError }: EveryOptions,
  work: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    const startedMs = performance.now()
    try {
      await work()
    } catch (error) {
      if (!signal.aborted) onError(error)
    }
    const elapsedMs = isFixedRate ? performance.now() - startedMs : 0
    await pause(Math.max(0, ms - elapsedMs), signal)
  }
}
