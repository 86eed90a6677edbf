import { setTimeout as sleep } from 'node:timers/promises'

/** @throws the signal's reason when it is aborted */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch {
    signal.throwIfAborted()
  }
}

/**
 * Asks until the answer is not null.
 * @throws the signal's reason when it is aborted
 */
export async function until<T>(ask: () => Promise<T | null>, everyMs: number, signal: AbortSignal): Promise<T> {
  while (true) {
    signal.throwIfAborted()
    const answer = await ask()
    if (answer !== null) return answer
    await pause(everyMs, signal)
  }
}
