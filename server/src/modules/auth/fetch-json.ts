const timeoutMs = 10_000

type JsonRequest = { body: URLSearchParams } | { accessToken: string }

/**
 * Calls an external service: POSTs a form, or GETs with an access token.
 * @throws Error on a timeout, a redirect, an error status or invalid JSON
 */
export async function fetchJson(url: string, request: JsonRequest): Promise<unknown> {
  const headers = { accept: 'application/json', 'user-agent': 'shoal' }
  const response = await fetch(url, {
    ...('body' in request
      ? { method: 'POST', body: request.body, headers }
      : { headers: { ...headers, authorization: `Bearer ${request.accessToken}` } }),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (!response.ok) throw new Error(`${new URL(url).host} responded with ${response.status}`)
  return response.json()
}
