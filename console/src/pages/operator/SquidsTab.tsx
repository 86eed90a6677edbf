import type { OperatorSquid } from '@shoal/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Prefetch } from '../../api/prefetch.ts'
import type { Sort } from '../../components/data-table/columns.ts'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { sortOf, useSearchText, useUrlSort } from '../../components/data-table/url-state.ts'
import { formatInteger } from '../../lib/format.ts'
import { SearchField } from '../../ui/SearchField.tsx'
import { operatorSquidsQuery, type SquidsQuery } from './queries.ts'
import { referenceOf } from './reference-of.ts'
import { squidColumns } from './squid-columns.tsx'
import { withSortedShown } from './usage-columns.tsx'
import { useSquidActions } from './use-squid-actions.tsx'

const initialSort: Sort = { column: 'cpu', order: 'desc' }

/** The query of the list for the parameters of the URL. */
const queryOf = ({ search }: Record<string, unknown>, { column, order }: Sort) =>
  ({ ...(typeof search === 'string' && search !== '' && { search }), sort: column, order }) as SquidsQuery

export const prefetch: Prefetch = ({ client, search }) => {
  void client.prefetchInfiniteQuery(operatorSquidsQuery(queryOf(search, sortOf(search, initialSort))))
}

const empty = {
  title: 'No squids match',
  text: 'Squids of all organizations are listed here. Search for a part of name@slot, or for the code of an organization.',
}

/** The squids of all organizations, by default those that use the most CPU first. */
export default function SquidsTab() {
  const search = useSearchText('search')
  const params = useSearch({ from: '/app/admin/squids' })
  const { sort } = useUrlSort(initialSort)
  const columns = useMemo(() => withSortedShown(squidColumns, sort.column), [sort.column])
  const { data, ...query } = useInfiniteQuery(operatorSquidsQuery(queryOf(params, sort)))
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <SearchField
          label="Find squid"
          placeholder="Squid or organization"
          value={search.text}
          onChange={search.setText}
          className="max-sm:w-full"
        />
        {data && <p className="text-ink-3">{data.total === 1 ? '1 squid' : `${formatInteger(data.total)} squids`}</p>}
      </div>
      <QueryTable
        label="Squids"
        query={{ ...query, data: data?.rows }}
        columns={columns}
        idOf={idOf}
        nameOf={referenceOf}
        initialSort={initialSort}
        actions={useSquidActions()}
        empty={empty}
        moreLabel="Show more"
      />
    </>
  )
}

const idOf = ({ id }: OperatorSquid) => String(id)
