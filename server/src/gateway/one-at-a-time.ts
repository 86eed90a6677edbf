/**
 * Returns a function that runs `work`, never twice at the same time. A call during a run is answered by one more run after it, which all
 * such calls share: the last run began after the last call, and results arrive in order. It rejects if its run does.
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
