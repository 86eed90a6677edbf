import { ApiError } from '@shoal/contract'
import { callApi } from '../../api/query.ts'

/** As GraphiQL asks. */
export type Question = { query: string; variables?: Record<string, unknown> | null; operationName?: string | null }
export type Fetcher = (question: Question) => Promise<Record<string, unknown>>

type Params = { code: string; reference: string }

/**
 * Asks the squid's public address as any page of the world would. Where its CORS rules, or those of a proxy, keep this page out,
 * the server asks for us; `onDetour` is told once.
 */
export function createFetcher(url: string, params: Params, onDetour: () => void): Fetcher {
  let isKeptOut = false
  return async (question) => {
    if (!isKeptOut) {
      const answer = await askDirectly(url, question)
      if (answer) return answer
    }
    const payload = await callApi('squids.query', { params, body: question }).catch(asGraphqlError)
    if (!isKeptOut && !('errors' in payload)) {
      isKeptOut = true
      onDetour()
    }
    return payload
  }
}

/** Null when the browser may not know the answer: CORS and broken lines look the same to it. */
async function askDirectly(url: string, question: Question): Promise<Record<string, unknown> | null> {
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

function asGraphqlError(error: unknown): Record<string, unknown> {
  return { errors: [{ message: error instanceof ApiError ? error.message : 'The squid does not answer.' }] }
}
