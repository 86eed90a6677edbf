export type LinkAttributes = Record<string, string>

/** The links that a page needs first. */
export type HeadHints = {
  signedIn: LinkAttributes[]
  signedOut: LinkAttributes[]
  /** The links of the list of squids. */
  squids: LinkAttributes[]
}

/**
 * Runs in the head, before all other scripts: preloads code, and requests the session and the list of squids, so that they do not wait
 * for the code. `api/early-responses.ts` returns the responses. Must not refer to anything outside of this function, because the
 * build inserts its text into the page. `localStorage` has the keys of `lib/local-settings.ts`.
 */
export function headScript({ signedIn, signedOut, squids }: HeadHints): void {
  const token = localStorage.getItem('user_token')
  const isList = /^\/squids\/?$/.test(location.pathname)
  const links = token === null ? signedOut : [...signedIn, ...(isList ? squids : [])]
  for (const attributes of links)
    document.head.append(Object.assign(document.createElement('link'), attributes, { crossOrigin: '' }))
  if (token === null) return
  document.documentElement.dataset['session'] = ''
  const headers = { accept: 'application/json', authorization: `Bearer ${token}` }
  const code = new URLSearchParams(location.search).get('organization') ?? localStorage.getItem('userOrgCode')
  const list = `/api/v1/orgs/${code}/`
  const urls = ['/api/v1/user']
  // The address may come from another site, so that only a code may get into the path.
  if (isList && code && /^[a-z0-9-]+$/.test(code))
    urls.push(`${list}squids/summaries`, `${list}deployments?statusGroup=IN_PROGRESS&logs=false`)
  const responses = new Map(urls.map((url) => [url, fetch(url, { headers })]))
  // The caller that takes a response handles its failure.
  for (const response of responses.values()) response.catch(() => null)
  globalThis.earlyResponses = { token, responses }
}

/** The text of the script. */
export const headScriptText = (hints: HeadHints): string => `(${headScript.toString()})(${JSON.stringify(hints)})`
