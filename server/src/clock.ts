/** Business time. Rules that depend on it take a clock, so that tests can set it. */
export type Clock = { now: () => Date }

export const systemClock: Clock = { now: () => new Date() }

/** A clock that stands still until `advance` is called. */
export function fakeClock(start = new Date('2026-01-15T12:00:00Z')): Clock & { advance: (ms: number) => void } {
  let at = start.getTime()
  return { now: () => new Date(at), advance: (ms) => void (at += ms) }
}

export const minutes = (n: number): number => n * 60_000
export const hours = (n: number): number => n * 3_600_000
export const days = (n: number): number => n * 86_400_000

/** Formats epoch milliseconds as the API does: `2026-11-22T15:42:41.000Z`. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()
