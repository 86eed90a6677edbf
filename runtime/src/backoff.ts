const INITIAL_BACKOFF_MS = 1000
const MAX_BACKOFF_MS = 5 * 60_000
/** A run that lasts at least this long is stable, and resets the backoff. */
const STABLE_RUN_MS = 10 * 60_000

/** Returns the new number of consecutive crashes when a run crashes after `ranMs`. */
export function consecutiveCrashes(before: number, ranMs: number): number {
  return ranMs >= STABLE_RUN_MS ? 1 : before + 1
}

/** Returns the delay before the restart after `crashes` consecutive crashes: 1 s, 2 s, 4 s … 5 minutes. */
export function backoffMs(crashes: number): number {
  return Math.min(INITIAL_BACKOFF_MS * 2 ** Math.min(crashes - 1, 20), MAX_BACKOFF_MS)
}
