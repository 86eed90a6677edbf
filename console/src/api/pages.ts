import { infiniteQueryOptions, type InfiniteData, type UseInfiniteQueryOptions } from '@tanstack/react-query'
import type { Call, EndpointName } from './client.ts'
import { callApi, type CallArgument, type Payload } from './query.ts'

type Row = { id: number }

/** The page size of lists whose endpoint takes `before`, as in the contract. */
const pageSize = 50

const rowsOf = <R>({ pages }: InfiniteData<R[], string>): R[] => pages.flat()

type RowOf<N extends EndpointName> = Payload<N> extends (infer R extends Row)[] ? R : never

type Timing<R> = Pick<
  UseInfiniteQueryOptions<R[], Error, R[], readonly [EndpointName, Call, 'pages'], string>,
  'refetchInterval'
>

/**
 * Like `q`, for a list whose endpoint returns the rows before an id, newest first. Use it with `useInfiniteQuery`, whose
 * data is the array of the rows of all loaded pages, and pass the result to `QueryTable`. A refetch reloads every page.
 */
export function qPages<N extends EndpointName>(name: N, call: CallArgument<N>, timing: Timing<RowOf<N>> = {}) {
  return infiniteQueryOptions({
    queryKey: [name, call as Call, 'pages'] as const,
    queryFn: async ({ pageParam, signal }) => {
      const { query } = call as { query?: object }
      const page = pageParam === '' ? call : { ...call, query: { ...query, before: pageParam } }
      return (await callApi(name, page, signal)) as RowOf<N>[]
    },
    initialPageParam: '',
    getNextPageParam: (page: readonly RowOf<N>[]) => (page.length < pageSize ? undefined : String(page.at(-1)?.id)),
    select: rowsOf<RowOf<N>>,
    ...timing,
  })
}
