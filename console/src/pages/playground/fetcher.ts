import { ApiError } from '@shoal/contract'
import { queryDirectly, type GraphqlRequest } from '../../api/graphql.ts'
import { callApi } from '../../api/query.ts'

/** Sends a query and returns the JSON of the response. Failures are returned as GraphQL errors. */
export type Fetcher = (request: GraphqlRequest) => Promise<Record<string, unknown>>

type Params = { code: string; reference: string }

/**
 * Creates a fetcher that sends queries to the squid's public URL, as any web page would. If CORS rules or a proxy block a query, the server
 * forwards it. After the first forwarded query that succeeds, the fetcher calls `onProxied`, and the server forwards all later queries, too.
 */
export function createFetcher(url: string, params: Params, onProxied: () => void): Fetcher {
  let isBlocked = false
  return async (request) => {
    if (!isBlocked) {
      const directResponse = await queryDirectly(url, request)
      if (directResponse) return directResponse
    }
    const { response } = await callApi('squids.query', { params, body: request }).catch(asGraphqlError)
    if (!isBlocked && !('errors' in response)) {
      isBlocked = true
      onProxied()
    }
    return response
  }
}

function asGraphqlError(error: unknown): { response: Record<string, unknown> } {
  const message = error instanceof ApiError ? error.message : 'The squid is not responding.'
  return { response: { errors: [{ message }] } }
}
