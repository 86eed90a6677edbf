export type LinkAttributes = Record<string, string>

/** The attributes of the links to the files that a page needs first. */
export type HeadHints = {
  signedIn: LinkAttributes[]
  signedOut: LinkAttributes[]
  /** Added to `signedIn` on the list of squids. */
  squids: LinkAttributes[]
}

/**
 * Runs in the head, before all other scripts: preloads code, and requests the session and the list of squids or the open version, so that they do not
 * wait for the code. `api/early-responses.ts` returns the responses. This function must not refer to anything outside of it, because the
 * build inserts its text into the page. `lib/local-settings.ts` defines the keys of `localStorage`.
 */
export function headScript({ signedIn, signedOut, squids }: HeadHints): void {
  const token = localStorage.getItem('user_token')
  const isSquidList = /^\/squids\/?$/.test(location.pathname)
  const links = token === null ? signedOut : [...signedIn, ...(isSquidList ? squids : [])]
  for (const attributes of links)
    document.head.append(Object.assign(document.createElement('link'), attributes, { crossOrigin: '' }))
  if (token === null) return
  document.documentElement.dataset['session'] = ''
  const headers = { accept: 'application/json', authorization: `Bearer ${token}` }
  const code = new URLSearchParams(location.search).get('organization') ?? localStorage.getItem('userOrgCode')
  const list = `/api/v1/orgs/${code}/`
  const urls = ['/api/v1/user']
  // Another site may have written this address, so the path of a request must not include anything other than a valid code.
  if (code && /^[a-z0-9-]+$/.test(code)) {
    if (isSquidList) urls.push(`${list}squids/summaries`, `${list}deployments?statusGroup=IN_PROGRESS&logs=false`)
    // The pages of a version request other data after they have its id.
    const version = /^\/squids\/([a-z0-9-]+)\/([a-z0-9-]+)(\/|$)/.exec(location.pathname)
    if (version) urls.push(`${list}squids/${version[1]}@${version[2]}?files=false`)
  }
  const responses = new Map(urls.map((url) => [url, fetch(url, { headers })]))
  // The caller that takes a response handles its failure.
  for (const response of responses.values()) response.catch(() => null)
  globalThis.earlyResponses = { token, responses }
}

/** The text of the script. */
export const headScriptText = (hints: HeadHints): string => `(${headScript.toString()})(${JSON.stringify(hints)})`
