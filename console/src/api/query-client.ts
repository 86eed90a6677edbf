import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from '@shoal/contract'
import { isPublic, type EndpointName } from './client.ts'
import { hasStatus } from './error-text.ts'
import { dropSession, sessionQuery } from './session.ts'

const retries = 2

/** One for the app. A 401 to a call that needs a session ends the session; a 503 to any is maintenance. */
export function createQueryClient(): QueryClient {
  const onError = (error: Error, key: readonly unknown[] | undefined) => {
    const name = key?.[0] as EndpointName | undefined
    if (name && hasStatus(error, 401) && !isPublic(name)) dropSession(client)
    if (hasStatus(error, 503)) client.setQueryData(sessionQuery.queryKey, { status: 'unavailable' })
  }
  const client = new QueryClient({
    queryCache: new QueryCache({ onError: (error, query) => onError(error, query.queryKey) }),
    mutationCache: new MutationCache({
      onError: (error, _, __, mutation) => onError(error, mutation.options.mutationKey),
    }),
    defaultOptions: {
      queries: {
        staleTime: 5000,
        // What the server refused it would refuse again; what never arrived may arrive.
        retry: (count, error) => count < retries && !(error instanceof ApiError),
      },
    },
  })
  return client
}
