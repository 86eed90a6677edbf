type GraphqlResult = { data?: Record<string, { totalCount: number }>; errors?: unknown[] }

/** Sends one GraphQL query; returns the body for any HTTP status. */
async function graphql(endpoint: string, query: string): Promise<GraphqlResult> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  return (await response.json().catch(() => ({}))) as GraphqlResult
}

/** Returns the number of transfers that the example squid has indexed; null while it does not respond. */
export async function totalTransfers(endpoint: string): Promise<number | null> {
  const result = await graphql(endpoint, '{ transfersConnection(orderBy: id_ASC) { totalCount } }')
  return result.data?.['transfersConnection']?.totalCount ?? null
}
