import { queryOptions, type UseQueryOptions } from '@tanstack/react-query'
import type { EndpointName } from './client.ts'

type Timing<T> = Pick<
  UseQueryOptions<T, Error, T, readonly [EndpointName, object]>,
  'refetchInterval' | 'placeholderData' | 'structuralSharing'
>

/**
 * Like `q`, for data that one call does not determine: `compute` calls the endpoint with times that depend on now, or several times. `key`
 * is all that the data depends on otherwise; what changes the endpoint invalidates it.
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
