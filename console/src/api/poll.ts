import type { Query } from '@tanstack/react-query'

type PollIntervals = {
  fastMs: number
  slowMs: number
  /** The time after which polling slows down: a task that takes longer is not worth a request per second. */
  maxFastMs?: number
}

const defaultMaxFastMs = 15 * 60_000

/** A `refetchInterval` that depends on the data: fast while `isActive`, slow otherwise. `nowMs` is for tests. */
export function pollWhile<T>(
  isActive: (data: T) => boolean,
  { fastMs, slowMs, maxFastMs = defaultMaxFastMs }: PollIntervals,
  nowMs: () => number = Date.now,
) {
  const activeSince = new Map<string, number>()
  return ({ state, queryHash }: Pick<Query<T>, 'state' | 'queryHash'>): number => {
    if (state.data === undefined || !isActive(state.data)) {
      activeSince.delete(queryHash)
      return slowMs
    }
    const since = activeSince.get(queryHash) ?? nowMs()
    activeSince.set(queryHash, since)
    return nowMs() - since < maxFastMs ? fastMs : slowMs
  }
}
