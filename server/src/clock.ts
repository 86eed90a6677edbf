/** A source of business time. Rules that depend on time receive a clock, so that tests can set the time. */
export type Clock = { now: () => Date }

export const systemClock: Clock = { now: () => new Date() }

/** Creates a clock whose time changes only when `advance` is called. */
export function fakeClock(start = new Date('2026-01-15T12:00:00Z')): Clock & { advance: (ms: number) => void } {
  let at = start.getTime()
  return { now: () => new Date(at), advance: (ms) => void (at += ms) }
}

// These functions return durations in milliseconds.
export const minutes = (n: number): number => n * 60_000
export const hours = (n: number): number => n * 3_600_000
export const days = (n: number): number => n * 86_400_000

/** Formats epoch milliseconds as the API does: `2026-11-22T15:42:41.000Z`. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** Returns the UTC day of epoch milliseconds: `2026-11-22`. */
export const dayOf = (ms: number): string => isoTime(ms).slice(0, 10)

/** Returns the UTC month of epoch milliseconds: `2026-11`. */
export const monthOf = (ms: number): string => isoTime(ms).slice(0, 7)

/** Returns the first day of the UTC month of epoch milliseconds: `2026-11-01`. */
export const firstDayOfMonth = (ms: number): string => `${monthOf(ms)}-01`
