import { queryOptions, type UseQueryOptions } from '@tanstack/react-query'
import type { EndpointName } from './client.ts'

type Timing<T> = Pick<
  UseQueryOptions<T, Error, T, readonly [EndpointName, object]>,
  'refetchInterval' | 'placeholderData' | 'structuralSharing'
>

/**
 * Like `q`, for data that a single call with fixed parameters cannot provide: `compute` calls the endpoint several times, or with times
 * relative to now. `key` contains everything else that the data depends on. Invalidating the endpoint `name` invalidates this query.
 */
export function qComputed<T>(
  name: EndpointName,
  key: object,
  compute: (signal: AbortSignal) => Promise<T>,
  timing: Timing<T> = {},
) {
  return queryOptions({
    queryKey: [name, key] as const,
    queryFn: ({ signal }) => compute(signal),
    ...timing,
  })
}
