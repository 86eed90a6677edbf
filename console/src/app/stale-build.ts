const key = 'reloaded_at'
const minReloadIntervalMs = 30_000

/**
 * A tab that was open while a new version came asks for files that are gone. Loading the page again brings the new
 * ones; not twice in a row, should something else be wrong.
 */
export function reloadWhenStale(): void {
  window.addEventListener('vite:preloadError', (event) => {
    const lastReloadMs = Number(sessionStorage.getItem(key) ?? 0)
    if (Date.now() - lastReloadMs < minReloadIntervalMs) return
    event.preventDefault()
    sessionStorage.setItem(key, String(Date.now()))
    location.reload()
  })
}
