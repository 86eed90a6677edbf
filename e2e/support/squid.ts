type Answer = { data?: Record<string, { totalCount: number }>; errors?: unknown[] }

/** Sends one GraphQL query; returns the body for any HTTP status. */
async function graphql(endpoint: string, query: string): Promise<Answer> {
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  return (await answer.json().catch(() => ({}))) as Answer
}

/** Returns the number of transfers the example squid has indexed; null while it does not respond. */
export async function totalTransfers(endpoint: string): Promise<number | null> {
  const answer = await graphql(endpoint, '{ transfersConnection(orderBy: id_ASC) { totalCount } }')
  return answer.data?.['transfersConnection']?.totalCount ?? null
}
