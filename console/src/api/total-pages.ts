import { infiniteQueryOptions, keepPreviousData } from '@tanstack/react-query'
import type { Call, EndpointName } from './client.ts'
import { callApi, type CallArgument, type Payload } from './query.ts'

/** The rows of all loaded pages, and the number of all rows. */
export type TotalRows<R> = { rows: R[]; total: number }

type NameWithTotal = { [N in EndpointName]: Payload<N> extends { total: number } ? N : never }[EndpointName]

type Options<N extends NameWithTotal, R> = {
  rowsOf: (page: Payload<N>) => R[]
  pageSize: number
  refetchInterval: number
}

/**
 * Like `qPages`, for a list that the server sorts. Its endpoint takes `offset`, and returns the number of all rows. While another order
 * or filter loads, the previous rows stay.
 */
export function qTotalPages<N extends NameWithTotal, R extends { id: number }>(
  name: N,
  call: CallArgument<N>,
  { rowsOf, pageSize, refetchInterval }: Options<N, R>,
) {
  const { query } = call as { query?: object }
  return infiniteQueryOptions({
    queryKey: [name, call as Call, 'pages'] as const,
    queryFn: async ({ pageParam, signal }) => {
      const page = await callApi(name, { ...call, query: { ...query, offset: String(pageParam) } }, signal)
      return { rows: rowsOf(page), total: (page as { total: number }).total }
    },
    initialPageParam: 0,
    getNextPageParam: ({ total }, pages) => {
      const loaded = pages.length * pageSize
      return loaded < total ? loaded : undefined
    },
    select: ({ pages }): TotalRows<R> => ({
      // A row may be on two pages, if the order changed between their requests.
      rows: [...new Map(pages.flatMap(({ rows }) => rows).map((row) => [row.id, row])).values()],
      total: pages[0]?.total ?? 0,
    }),
    refetchInterval,
    placeholderData: keepPreviousData,
  })
}
