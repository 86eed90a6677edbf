declare global {
  /**
   * The responses, by URL, to the requests that the head script has sent (`build/head-script.ts`); undefined during development and
   * without a session.
   */
  var earlyResponses: { token: string; responses: Map<string, Promise<Response>> } | undefined
}

/**
 * Returns the response to a request that the head script has sent with this token, but only once; undefined if there is none. With
 * another token, it drops all early responses, because they belong to another user.
 */
export function takeEarlyResponse(url: string, token: string | null): Promise<Response> | undefined {
  const early = globalThis.earlyResponses
  if (!early) return undefined
  if (early.token !== token) {
    dropEarlyResponses()
    return undefined
  }
  const response = early.responses.get(url)
  early.responses.delete(url)
  return response
}

/** Drops the responses that the first page has not taken: the user may change the data before another page needs them. */
export function dropEarlyResponses(): void {
  globalThis.earlyResponses = undefined
}
