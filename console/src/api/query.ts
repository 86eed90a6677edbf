import { queryOptions, skipToken, type QueryClient, type SkipToken, type UseQueryOptions } from '@tanstack/react-query'
import type { CallOf, PayloadOf } from '@shoal/contract'
import { send, type Call, type EndpointName, type EndpointOf } from './client.ts'

export type Payload<N extends EndpointName> = PayloadOf<EndpointOf<N>>
export type CallArgument<N extends EndpointName> = CallOf<EndpointOf<N>>

/** Options of a query other than its call, mainly how long the data is fresh and when to refetch. */
type Timing<P> = Pick<
  UseQueryOptions<P, Error, P, readonly [EndpointName, Call]>,
  'staleTime' | 'gcTime' | 'refetchInterval' | 'refetchOnMount' | 'retry' | 'placeholderData'
>

/**
 * A query as a value, shared by the route's loader and the component, so that both fetch the same data:
 * `q('squids.list', { params: { code } })`. Its key is the endpoint's name and the call.
 */
export function q<N extends EndpointName>(name: N, call: CallArgument<N>, timing: Timing<Payload<N>> = {}) {
  return queryOptions({
    queryKey: [name, call as Call] as const,
    queryFn: ({ signal }) => callApi(name, call, signal),
    ...timing,
  })
}

/** The query; if `isNeeded` is false, one with the same key and type that sends no request, and whose data is what the cache has. */
export const onlyIf = <T extends { queryFn?: unknown }>(
  isNeeded: boolean,
  query: T,
): T | (T & { queryFn: SkipToken }) => (isNeeded ? query : { ...query, queryFn: skipToken })

/** Calls an endpoint outside a query or mutation. */
export function callApi<N extends EndpointName>(
  name: N,
  call: CallArgument<N>,
  signal?: AbortSignal,
): Promise<Payload<N>> {
  return send(name, call, signal) as Promise<Payload<N>>
}

/**
 * Marks all queries of these endpoints as stale, and refetches those in use; the current data stays on screen until the new data arrives.
 * Resolves when the refetches have ended.
 */
export async function invalidate(client: QueryClient, ...names: EndpointName[]): Promise<void> {
  await Promise.all(names.map((name) => client.invalidateQueries({ queryKey: [name] })))
}
