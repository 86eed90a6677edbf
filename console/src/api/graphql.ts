export type GraphqlRequest = {
  query: string
  variables?: Record<string, unknown> | null
  operationName?: string | null
}

/**
 * Sends a GraphQL request to a squid's public URL, without credentials, and returns the JSON of the response. Returns null when the
 * browser blocks the response (CORS) or the network fails, which a script cannot distinguish.
 */
export async function queryDirectly(url: string, request: GraphqlRequest): Promise<Record<string, unknown> | null> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    credentials: 'omit',
    body: JSON.stringify(request),
  }).catch(() => null)
  if (!response) return null
  const body: unknown = await response.json().catch(() => null)
  return typeof body === 'object' && body !== null
    ? (body as Record<string, unknown>)
    : { errors: [{ message: `The squid returned ${response.status} without JSON.` }] }
}
