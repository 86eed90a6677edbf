import type { Query } from '@tanstack/react-query'

type Speeds = {
  fastMs: number
  slowMs: number
  /** Fast asking stops after this long without a rest: what takes longer is not worth a request a second. */
  giveUpAfterMs?: number
}

const defaultGiveUpAfterMs = 15 * 60_000

/**
 * A `refetchInterval` that follows the data: fast while `isMoving` says so, slow otherwise.
 * `nowMs` is for tests.
 */
export function pollWhile<T>(
  isMoving: (data: T) => boolean,
  { fastMs, slowMs, giveUpAfterMs = defaultGiveUpAfterMs }: Speeds,
  nowMs: () => number = Date.now,
) {
  const movingSince = new Map<string, number>()
  return ({ state, queryHash }: Pick<Query<T>, 'state' | 'queryHash'>): number => {
    if (state.data === undefined || !isMoving(state.data)) {
      movingSince.delete(queryHash)
      return slowMs
    }
    const since = movingSince.get(queryHash) ?? nowMs()
    movingSince.set(queryHash, since)
    return nowMs() - since < giveUpAfterMs ? fastMs : slowMs
  }
}
