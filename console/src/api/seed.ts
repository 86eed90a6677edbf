import type { InfiniteData, QueryClient } from '@tanstack/react-query'
import type { EndpointName } from './client.ts'
import type { CallArgument, Payload } from './query.ts'

/** Changes the cached data of a query. Without cached data it does nothing: the page then loads it. */
export function seed<N extends EndpointName>(
  client: QueryClient,
  name: N,
  call: CallArgument<N>,
  change: (cached: Payload<N>) => Payload<N>,
): void {
  client.setQueryData<Payload<N>>([name, call], (cached) => cached && change(cached))
}

/** Replaces the item with the same key, or appends the new item. */
export function withItem<T>(items: readonly T[], item: T, keyOf: (item: T) => unknown): T[] {
  const isSame = (other: T) => keyOf(other) === keyOf(item)
  return items.some(isSame) ? items.map((other) => (isSame(other) ? item : other)) : [...items, item]
}

/**
 * Changes the pages of all cached lists (`qPages`, `qTotalPages`) that an endpoint returned for these parameters; `{}` stands for all
 * parameters.
 */
export function seedPages<P>(
  client: QueryClient,
  name: EndpointName,
  call: object,
  change: (page: P, index: number) => P,
): void {
  client.setQueriesData<InfiniteData<P>>(
    { queryKey: [name, call], predicate: ({ queryKey }) => queryKey[2] === 'pages' },
    (cached) => cached && { ...cached, pages: cached.pages.map(change) },
  )
}
