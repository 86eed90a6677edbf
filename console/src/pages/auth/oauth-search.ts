const key = 'oauth_search'

/** Saves the query string, which may contain an invitation: providers redirect back without it. */
export function saveSearchForReturn(): void {
  sessionStorage.setItem(key, location.search)
}

/** Returns the saved query string and removes it. */
export function consumeSavedSearch(): string {
  const savedSearch = sessionStorage.getItem(key) ?? ''
  sessionStorage.removeItem(key)
  return savedSearch
}
