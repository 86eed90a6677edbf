const key = 'oauth_search'

/** Saves the query string, which may contain an invitation, because the URL to which providers redirect does not contain it. */
export function saveSearchForReturn(): void {
  sessionStorage.setItem(key, location.search)
}

/** Returns the saved query string and deletes it; empty if none is saved. */
export function consumeSavedSearch(): string {
  const savedSearch = sessionStorage.getItem(key) ?? ''
  sessionStorage.removeItem(key)
  return savedSearch
}
