/**
 * Returns a function that runs `work`, never twice at the same time. All calls during a run share one more run after it, so the last
 * run always begins after the last call. The promise of each call settles with the run that serves it.
 */
export function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve()
  let waiting: Promise<void> | null = null
  const begin = () => {
    waiting = null
    return work()
  }
  return () => {
    waiting ??= last = last.then(begin, begin)
    return waiting
  }
}
