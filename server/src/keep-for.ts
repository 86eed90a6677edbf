import type { App } from './app.ts'

/**
 * Returns a function that computes a value at most once in `ms` milliseconds; concurrent callers share the computation. A failed one is
 * not kept.
 */
export function keepFor<T>({ clock }: Pick<App, 'clock'>, ms: number, compute: () => Promise<T>): () => Promise<T> {
  let kept: { value: Promise<T>; atMs: number } | null = null
  return () => {
    const atMs = clock.now().getTime()
    // A clock that was set back must not keep the value longer.
    if (kept && atMs >= kept.atMs && atMs - kept.atMs < ms) return kept.value
    const current = { value: compute(), atMs }
    kept = current
    current.value.catch(() => {
      if (kept === current) kept = null
    })
    return current.value
  }
}
