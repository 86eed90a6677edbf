import type { App } from '../app.ts'

/**
 * Returns a function that caches the value of `compute` for `ms` milliseconds. Concurrent callers share one computation. Failures are
 * not cached.
 */
export function cacheFor<T>({ clock }: Pick<App, 'clock'>, ms: number, compute: () => Promise<T>): () => Promise<T> {
  let cached: { value: Promise<T>; atMs: number } | null = null
  return () => {
    const atMs = clock.now().getTime()
    // If the clock was set back, the value would otherwise stay in the cache for longer.
    if (cached && atMs >= cached.atMs && atMs - cached.atMs < ms) return cached.value
    const current = { value: compute(), atMs }
    cached = current
    current.value.catch(() => {
      if (cached === current) cached = null
    })
    return current.value
  }
}
