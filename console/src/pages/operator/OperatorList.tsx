import { useMemo, type ComponentProps, type ReactNode } from 'react'
import type { TotalRows } from '../../api/total-pages.ts'
import { QueryTable, type RowsQuery } from '../../components/data-table/QueryTable.tsx'
import { useSearchText, type SearchRoute } from '../../components/data-table/url-state.ts'
import { countOf } from '../../lib/format.ts'
import { SearchField } from '../../ui/SearchField.tsx'
import { withSortedShown } from './usage-columns.tsx'

type Row = { id: number }

type Props<T> = Omit<ComponentProps<typeof QueryTable<T>>, 'label' | 'query' | 'idOf'> & {
  route: SearchRoute<`/app/admin/${'organizations' | 'squids' | 'users'}`>
  /** What a row represents, in the singular: `squid`. */
  noun: string
  /** What the search finds: `Squid or organization`. */
  placeholder: string
  query: Omit<RowsQuery<T>, 'data'> & { data: TotalRows<T> | undefined }
  /** Further filters. */
  children?: ReactNode
}

const idOf = ({ id }: Row) => String(id)

/** A list of all organizations, squids or users of the installation, with a search field and the number of rows that match. */
export function OperatorList<T extends Row>({
  route,
  noun,
  placeholder,
  query,
  columns,
  children,
  ...table
}: Props<T>) {
  const { text, setText } = useSearchText(route, 'search')
  const { data, ...rest } = query
  const sorted = table.sort?.sort.column ?? ''
  const shown = useMemo(() => withSortedShown(columns, sorted), [columns, sorted])
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <SearchField
          label={`Find ${noun}`}
          placeholder={placeholder}
          value={text}
          onChange={setText}
          className="max-sm:w-full"
        />
        {children}
        {data && <p className="text-ink-3">{countOf(data.total, noun)}</p>}
      </div>
      <QueryTable
        {...table}
        columns={shown}
        label={`${noun[0]?.toUpperCase()}${noun.slice(1)}s`}
        query={{ ...rest, data: data?.rows }}
        idOf={idOf}
        moreLabel="Show more"
      />
    </>
  )
}
