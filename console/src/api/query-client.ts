import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from '@shoal/contract'
import { isPublic, type EndpointName } from './client.ts'
import { isUnreachable, hasFailed, recordResponse, recordFailure } from './connection.ts'
import { hasStatus } from './error-text.ts'
import { dropSession, sessionQuery } from './session.ts'

const maxRetries = 2
/** Interval of session checks while the server is unreachable. */
const sessionRetryMs = 3000

/**
 * The app's query client. A 401 response to a call that needs a session ends the session. While the server is
 * unreachable, cached data is kept and the session is polled; failed queries are refetched when the server responds.
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
    // Public endpoints respond without the database, so they do not prove that it is back.
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
        // Treat an offline browser like an unreachable server.
        networkMode: 'always',
        // The server would return the same error again; a request that got no response may succeed.
        retry: (count, error) => count < maxRetries && !(error instanceof ApiError),
      },
      mutations: { networkMode: 'always' },
    },
  })
  return client
}

/** Resolves when no query is loading, or after `maxMs`. */
export function untilFetched(client: QueryClient, maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      unsubscribe()
      clearTimeout(timer)
      resolve()
    }
    const check = () => client.isFetching() === 0 && finish()
    const unsubscribe = client.getQueryCache().subscribe(check)
    const timer = setTimeout(finish, maxMs)
    check()
  })
}
