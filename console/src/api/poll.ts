import type { Query } from '@tanstack/react-query'

type PollIntervals = {
  fastMs: number
  slowMs: number
  /** Polling slows down after this time: a task that takes longer is not worth a request per second. */
  slowAfterMs?: number
}

const defaultSlowAfterMs = 15 * 60_000

/** A `refetchInterval` that depends on the data: `fastMs` while `isActive`, but not for longer than `slowAfterMs`; otherwise `slowMs`. `nowMs` is for tests. */
export function pollWhile<T>(
  isActive: (data: T) => boolean,
  { fastMs, slowMs, slowAfterMs = defaultSlowAfterMs }: PollIntervals,
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
    return nowMs() - since < slowAfterMs ? fastMs : slowMs
  }
}
