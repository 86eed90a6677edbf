export type Question = { query: string; variables?: Record<string, unknown> | null; operationName?: string | null }

/**
 * Asks a squid's public address, with nothing of ours. Null when the browser may not know the answer: CORS rules and broken
 * lines look the same to it.
 */
export async function askDirectly(url: string, question: Question): Promise<Record<string, unknown> | null> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    credentials: 'omit',
    body: JSON.stringify(question),
  }).catch(() => null)
  if (!answer) return null
  const said: unknown = await answer.json().catch(() => null)
  return typeof said === 'object' && said !== null
    ? (said as Record<string, unknown>)
    : { errors: [{ message: `The squid answered ${answer.status} without JSON.` }] }
}
