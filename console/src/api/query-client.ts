import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from '@shoal/contract'
import { isPublic, type EndpointName } from './client.ts'
import { isUnreachable, hasFailed, recordResponse, recordFailure } from './connection.ts'
import { hasStatus } from './error-text.ts'
import { dropSession, sessionQuery } from './session.ts'

const maxRetries = 2
/** While nothing answers, who is here is asked this often. */
const sessionRetryMs = 3000

/**
 * One for the app. A 401 to a call that needs a session ends the session. Nothing is thrown away because the server does not answer:
 * it is asked again, and what failed meanwhile too once it answers.
 */
export function createQueryClient(): QueryClient {
  let retryTimer: ReturnType<typeof setInterval> | undefined

  const refetchSession = () => {
    if (client.getQueryData(sessionQuery.queryKey)?.status !== 'signedIn') return
    void client.fetchQuery({ ...sessionQuery, staleTime: 0, retry: false }).catch(() => null)
  }
  const onError = (error: Error, key: readonly unknown[] | undefined) => {
    const name = key?.[0] as EndpointName | undefined
    if (name && hasStatus(error, 401) && !isPublic(name)) dropSession(client)
    if (!isUnreachable(error)) return
    recordFailure()
    retryTimer ??= setInterval(refetchSession, sessionRetryMs)
  }
  const onSuccess = (key: readonly unknown[] | undefined) => {
    // What anybody may ask is answered without the database.
    const name = key?.[0] as EndpointName | undefined
    if (!hasFailed() || !name || isPublic(name)) return
    clearInterval(retryTimer)
    retryTimer = undefined
    if (recordResponse())
      void client.refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' })
  }
  const client = new QueryClient({
    queryCache: new QueryCache({
      onError: (error, query) => onError(error, query.queryKey),
      onSuccess: (_, query) => onSuccess(query.queryKey),
    }),
    mutationCache: new MutationCache({
      onError: (error, _, __, mutation) => onError(error, mutation.options.mutationKey),
      onSuccess: (_, __, ___, mutation) => onSuccess(mutation.options.mutationKey),
    }),
    defaultOptions: {
      queries: {
        staleTime: 5000,
        // A browser that says it is offline is treated as a server that does not answer.
        networkMode: 'always',
        // What the server refused it would refuse again; what never arrived may arrive.
        retry: (count, error) => count < maxRetries && !(error instanceof ApiError),
      },
      mutations: { networkMode: 'always' },
    },
  })
  return client
}
