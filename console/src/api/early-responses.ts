declare global {
  /** The requests that the head of the page has started (`build/head-script.ts`); undefined during development and without a session. */
  var earlyResponses: { token: string; responses: Map<string, Promise<Response>> } | undefined
}

/** Older responses are not used: the user may have changed the data since. */
const maxAgeMs = 10_000

/** Returns the response to a request that the head of the page has sent with this token, but only once; undefined if there is none. */
export function takeEarlyResponse(url: string, token: string | null): Promise<Response> | undefined {
  const early = globalThis.earlyResponses
  if (!early) return undefined
  if (performance.now() > maxAgeMs || early.token !== token) {
    globalThis.earlyResponses = undefined
    return undefined
  }
  const response = early.responses.get(url)
  early.responses.delete(url)
  return response
}
