const FIRST_MS = 1000
const LONGEST_MS = 5 * 60_000
/** A run of at least this long is stable and resets the backoff. */
const STABLE_MS = 10 * 60_000

/** Number of consecutive crashes after a run of `ranMs` that crashed. */
export function crashesInARow(before: number, ranMs: number): number {
  return ranMs >= STABLE_MS ? 1 : before + 1
}

/** Delay after this many consecutive crashes: 1 s, 2 s, 4 s … 5 minutes. */
export function backoffMs(crashes: number): number {
  return Math.min(FIRST_MS * 2 ** Math.min(crashes - 1, 20), LONGEST_MS)
}
