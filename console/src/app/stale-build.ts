const key = 'reloaded_at'
const minReloadIntervalMs = 30_000

/**
 * Reloads a tab whose build was replaced on the server, because its chunks no longer exist. Reloads at most once per
 * interval, in case the cause is another one.
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
