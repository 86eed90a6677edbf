const key = 'oauth_search'

/** A provider sends people back without their query string; an invitation in it would be lost. */
export function saveSearchForReturn(): void {
  sessionStorage.setItem(key, location.search)
}

/** What was kept, once. */
export function takeSavedSearch(): string {
  const kept = sessionStorage.getItem(key) ?? ''
  sessionStorage.removeItem(key)
  return kept
}
