type Answer = { data?: Record<string, { totalCount: number }>; errors?: unknown[] }

/** One GraphQL query; whatever HTTP status it has. */
async function graphql(endpoint: string, query: string): Promise<Answer> {
  const answer = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  return (await answer.json().catch(() => ({}))) as Answer
}

/** What the example squid says it has indexed; null while it does not answer. */
export async function totalTransfers(endpoint: string): Promise<number | null> {
  const answer = await graphql(endpoint, '{ transfersConnection(orderBy: id_ASC) { totalCount } }')
  return answer.data?.['transfersConnection']?.totalCount ?? null
}
