import { ApiError } from '@shoal/contract'
import { queryDirectly, type GraphqlRequest } from '../../api/graphql.ts'
import { callApi } from '../../api/query.ts'

/** GraphiQL's fetcher. */
export type Fetcher = (request: GraphqlRequest) => Promise<Record<string, unknown>>

type Params = { code: string; reference: string }

/**
 * Queries the squid's public URL like any web page. If CORS rules or a proxy block that, the server forwards the
 * query; `onProxied` is called once.
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
