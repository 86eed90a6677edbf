import { ApiError } from '@shoal/contract'
import { queryDirectly, type GraphqlRequest } from '../../api/graphql.ts'
import { callApi } from '../../api/query.ts'

/** As GraphiQL asks. */
export type Fetcher = (request: GraphqlRequest) => Promise<Record<string, unknown>>

type Params = { code: string; reference: string }

/**
 * Asks the squid's public address as any page of the world would. Where its CORS rules, or those of a proxy, keep this page out,
 * the server asks for us; `onProxied` is told once.
 */
export function createFetcher(url: string, params: Params, onProxied: () => void): Fetcher {
  let isBlocked = false
  return async (request) => {
    if (!isBlocked) {
      const direct = await queryDirectly(url, request)
      if (direct) return direct
    }
    const { answer } = await callApi('squids.query', { params, body: request }).catch(asGraphqlError)
    if (!isBlocked && !('errors' in answer)) {
      isBlocked = true
      onProxied()
    }
    return answer
  }
}

function asGraphqlError(error: unknown): { answer: Record<string, unknown> } {
  const message = error instanceof ApiError ? error.message : 'The squid does not answer.'
  return { answer: { errors: [{ message }] } }
}
