const key = 'oauth_search'

/** Saves the query string: providers redirect back without it, and an invitation in it would be lost. */
export function saveSearchForReturn(): void {
  sessionStorage.setItem(key, location.search)
}

/** Returns the saved query string and removes it. */
export function takeSavedSearch(): string {
  const kept = sessionStorage.getItem(key) ?? ''
  sessionStorage.removeItem(key)
  return kept
}
