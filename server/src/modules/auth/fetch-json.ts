const timeoutMs = 10_000

type JsonRequest = { body: URLSearchParams } | { accessToken: string }

/**
 * Asks a service outside: posts a form, or reads with an access token.
 * @throws Error when it does not answer in time, with a success, and with JSON
 */
export async function fetchJson(url: string, question: JsonRequest): Promise<unknown> {
  const headers = { accept: 'application/json', 'user-agent': 'shoal' }
  const answer = await fetch(url, {
    ...('body' in question
      ? { method: 'POST', body: question.body, headers }
      : { headers: { ...headers, authorization: `Bearer ${question.accessToken}` } }),
    redirect: 'error',
    signal: AbortSignal.timeout(timeoutMs),
  })
  if (!answer.ok) throw new Error(`${new URL(url).host} answered ${answer.status}`)
  return answer.json()
}
