import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for `ms` milliseconds. @throws the signal's reason when it is aborted */
export async function pauseOrThrow(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch {
    signal.throwIfAborted()
  }
}

/**
 * Calls `read`, with a delay of `everyMs` after each call, until its result is not null. Returns this result.
 * @throws the signal's reason when it is aborted
 */
export async function pollUntil<T>(read: () => Promise<T | null>, everyMs: number, signal: AbortSignal): Promise<T> {
  while (true) {
    signal.throwIfAborted()
    const result = await read()
    if (result !== null) return result
    await pauseOrThrow(everyMs, signal)
  }
}
