const key = 'oauth_search'

/** Only in memory once the user is back, whether the sign-in succeeded or not: the query string may contain the secret of an invitation. */
let savedSearch = sessionStorage.getItem(key) ?? ''
sessionStorage.removeItem(key)

// A browser that restores a page when the user goes back does not run the lines above.
addEventListener('pageshow', ({ persisted }) => {
  if (persisted) sessionStorage.removeItem(key)
})

/** Saves the query string, which may contain an invitation, because the URL to which providers redirect does not contain it. */
export function saveSearchForReturn(): void {
  sessionStorage.setItem(key, location.search)
}

/** Returns the query string that was saved before the redirect to the provider, and deletes it; empty if none was saved. */
export function consumeSavedSearch(): string {
  const search = savedSearch
  savedSearch = ''
  return search
}
