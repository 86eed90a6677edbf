const key = 'reloaded_at'
const minReloadIntervalMs = 30_000

/** Longer than the browser needs to leave a page. */
const maxLeavingMs = 10_000

let leftAtMs = 0

/** Whether the browser could not load a chunk: the server has a newer build, or the network failed. */
const isMissingChunk = (error: unknown): boolean =>
  error instanceof Error &&
  /dynamically imported module|Importing a module script failed|Unable to preload CSS/.test(error.message)

/**
 * If the error is a chunk that could not be loaded, reloads the tab, whose build may have been replaced on the server. Returns
 * whether the tab reloads: at most once per interval, in case the chunk is missing for another reason.
 */
export function reloadForMissingChunk(error: unknown): boolean {
  if (!isMissingChunk(error)) return false
  const lastReloadMs = Number(sessionStorage.getItem(key))
  if (Date.now() - lastReloadMs < minReloadIntervalMs) return false
  sessionStorage.setItem(key, String(Date.now()))
  // A browser that leaves the page cancels its requests. Reloading the page at that moment would cancel the navigation.
  // A time in the past means immediately.
  setTimeout(() => location.reload(), leftAtMs + maxLeavingMs - Date.now())
  return true
}

/**
 * Reloads the tab when code that an action of the user needs is missing. Error boundaries handle missing components. Chunks that are
 * loaded in advance may fail: they are requested again when they are needed.
 */
export function reloadWhenStale(): void {
  window.addEventListener('beforeunload', () => {
    leftAtMs = Date.now()
  })
  window.addEventListener('unhandledrejection', (event) => {
    if (reloadForMissingChunk(event.reason)) event.preventDefault()
  })
}
