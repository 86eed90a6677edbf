import type { App } from './app.ts'

/**
 * Returns a function that caches the value of `compute` for `ms` milliseconds. Concurrent callers share one computation. Failures are
 * not cached.
 */
export function keepFor<T>({ clock }: Pick<App, 'clock'>, ms: number, compute: () => Promise<T>): () => Promise<T> {
  let kept: { value: Promise<T>; atMs: number } | null = null
  return () => {
    const atMs = clock.now().getTime()
    // If the clock was set back, the value would otherwise stay in the cache for longer.
    if (kept && atMs >= kept.atMs && atMs - kept.atMs < ms) return kept.value
    const current = { value: compute(), atMs }
    kept = current
    current.value.catch(() => {
      if (kept === current) kept = null
    })
    return current.value
  }
}
