/** Whether a version's programs are probed in this round. */
export type Turn = (row: { squidId: number }) => boolean

/** All versions are probed in this round. */
export const allVersions: Turn = () => true

/**
 * `roundMs`: the time between two rounds. `intervalMs`: the time between two probes of a program. Above `maxPerSecond` probes a second,
 * this time grows up to `maxIntervalMs`.
 */
type TurnOptions = { roundMs: number; intervalMs: number; maxIntervalMs: number; maxPerSecond: number }

/**
 * Spreads probes over rounds, so that no round probes the programs of all versions of a large installation. Returns a function that is
 * called at each round, with the number of programs.
 */
export function createTurns({
  roundMs,
  intervalMs,
  maxIntervalMs,
  maxPerSecond,
}: TurnOptions): (count: number) => Turn {
  let round = 0
  return (count) => {
    const neededMs = Math.min(maxIntervalMs, Math.max(intervalMs, (count / maxPerSecond) * 1000))
    const turns = Math.max(1, Math.round(neededMs / roundMs))
    const turn = round++ % turns
    return ({ squidId }) => squidId % turns === turn
  }
}
