import { ApiError } from '@shoal/contract'
import { askDirectly, type Question } from '../../api/graphql.ts'
import { callApi } from '../../api/query.ts'

/** As GraphiQL asks. */
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
      const direct = await askDirectly(url, question)
      if (direct) return direct
    }
    const { answer } = await callApi('squids.query', { params, body: question }).catch(asGraphqlError)
    if (!isKeptOut && !('errors' in answer)) {
      isKeptOut = true
      onDetour()
    }
    return answer
  }
}

function asGraphqlError(error: unknown): { answer: Record<string, unknown> } {
  const message = error instanceof ApiError ? error.message : 'The squid does not answer.'
  return { answer: { errors: [{ message }] } }
}
