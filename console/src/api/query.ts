import { queryOptions, type QueryClient, type UseQueryOptions } from '@tanstack/react-query'
import type { CallOf, PayloadOf } from '@shoal/contract'
import { send, type Call, type EndpointName, type EndpointOf } from './client.ts'

export type Payload<N extends EndpointName> = PayloadOf<EndpointOf<N>>
export type CallArgument<N extends EndpointName> = CallOf<EndpointOf<N>>

/** What a query may be told beside its call: how long an answer is good, and when to ask again. */
type Timing<P> = Pick<
  UseQueryOptions<P, Error, P, readonly [EndpointName, Call]>,
  'staleTime' | 'gcTime' | 'refetchInterval' | 'enabled' | 'retry' | 'placeholderData'
>

/**
 * A query as a value, shared by the route's loader and the component, so that they cannot ask for different things:
 * `q('squids.list', { params: { code } })`. Its key is the endpoint's name and the call.
 */
export function q<N extends EndpointName>(name: N, call: CallArgument<N>, timing: Timing<Payload<N>> = {}) {
  return queryOptions({
    queryKey: [name, call as Call] as const,
    queryFn: ({ signal }) => callApi(name, call, signal),
    ...timing,
  })
}

/** One call outside of a query or a mutation. */
export function callApi<N extends EndpointName>(
  name: N,
  call: CallArgument<N>,
  signal?: AbortSignal,
): Promise<Payload<N>> {
  return send(name, call, signal) as Promise<Payload<N>>
}

/** Asks again for everything these endpoints answered; what is on screen stays until the new answers come. */
export async function invalidate(client: QueryClient, ...names: EndpointName[]): Promise<void> {
  await Promise.all(names.map((name) => client.invalidateQueries({ queryKey: [name] })))
}
