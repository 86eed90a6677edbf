import { useMemo, type ComponentProps } from 'react'
import { Button } from '../../ui/Button.tsx'
import { EmptyState } from '../EmptyState.tsx'
import { ErrorState } from '../ErrorState.tsx'
import { useShownError } from '../QueryView.tsx'
import { DataTable, type TableProps } from './DataTable.tsx'
import type { UrlSort } from './url-state.ts'

/** The result of `useQuery`, or of `useInfiniteQuery` with `qPages`, whose data is an array of rows. */
export type RowsQuery<T> = {
  data: readonly T[] | undefined
  error: Error | null
  errorUpdateCount: number
  refetch: () => unknown
  /** Only for lists with pages. */
  hasNextPage?: boolean
  isFetchingNextPage?: boolean
  fetchNextPage?: () => unknown
}

type Props<T> = Omit<TableProps<T>, 'rows' | 'empty' | 'sort' | 'onSort'> & {
  query: RowsQuery<T>
  /** The subject of the error message, such as `The secrets`; by default derived from the label. */
  what?: string
  /** Selects the rows to show. Keep the function identical while its result does not change. */
  filter?: ((rows: readonly T[]) => readonly T[]) | undefined
  /** The sort order of a sortable table, from `useUrlSort`, which keeps the user's choice in the URL. */
  sort?: UrlSort
  /** Shown instead of an empty list: the purpose of the list, and how to add the first row. Null shows nothing. */
  empty: ComponentProps<typeof EmptyState> | null
  /** The label of the button that loads the next page. */
  moreLabel?: string
}

/**
 * The list of a page: a skeleton while the query loads, its error with a retry, `empty`, or the table with its next
 * page. Loaded rows stay on screen when a refetch fails.
 */
export function QueryTable<T>({ query, what, filter, sort, empty, moreLabel = 'Show older', ...table }: Props<T>) {
  const { data } = query
  const [error, retry] = useShownError(query)
  const rows = useMemo(() => (data && filter ? filter(data) : data), [data, filter])
  if (error && data === undefined)
    return (
      <ErrorState
        what={`${what ?? `The ${table.label.toLowerCase()}`} could not be loaded`}
        error={error}
        onRetry={retry}
      />
    )
  return (
    <>
      <DataTable
        {...table}
        rows={rows}
        {...(sort && { sort: sort.sort, onSort: sort.setSort })}
        empty={empty && <EmptyState {...empty} />}
      />
      {query.hasNextPage && (
        <div className="mt-3 text-center">
          <Button isPending={query.isFetchingNextPage ?? false} onClick={() => void query.fetchNextPage?.()}>
            {moreLabel}
          </Button>
        </div>
      )}
    </>
  )
}
