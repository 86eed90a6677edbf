import { planLabels, type OperatorOrg } from '@shoal/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Prefetch } from '../../api/prefetch.ts'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { sortOf, useSearchText, useSetSearch, useUrlSort } from '../../components/data-table/url-state.ts'
import type { Sort } from '../../components/data-table/columns.ts'
import { formatInteger } from '../../lib/format.ts'
import { NativeSelect } from '../../ui/NativeSelect.tsx'
import { SearchField } from '../../ui/SearchField.tsx'
import { orgColumns } from './org-columns.tsx'
import { orgsQuery, type OrgsQuery } from './queries.ts'
import { withSortedShown } from './usage-columns.tsx'
import { useOrgActions } from './use-org-actions.tsx'

const initialSort: Sort = { column: 'cost', order: 'desc' }

const states = [
  { id: '', label: 'All states' },
  { id: 'SUSPENDED', label: 'Suspended' },
  ...Object.entries(planLabels).map(([id, label]) => ({
    id,
    label: id === 'TERMINATED' ? `${label}, hibernated` : label,
  })),
  { id: 'PLAYGROUND', label: 'Playgrounds' },
]

/** The query of the list for the parameters of the URL. */
const queryOf = ({ search, state }: Record<string, unknown>, { column, order }: Sort) =>
  ({
    ...(typeof search === 'string' && search !== '' && { search }),
    ...(typeof state === 'string' && state !== '' && { state }),
    sort: column,
    order,
  }) as OrgsQuery

export const prefetch: Prefetch = ({ client, search }) => {
  void client.prefetchInfiniteQuery(orgsQuery(queryOf(search, sortOf(search, initialSort))))
}

const empty = {
  title: 'No organizations match',
  text: 'Search for a part of the name or code, or for the full email of a member.',
}

/** All organizations, with what they use and cost. */
export default function OrgsTab() {
  const search = useSearchText('search')
  const params = useSearch({ from: '/app/admin/organizations' })
  const setSearch = useSetSearch()
  const { sort } = useUrlSort(initialSort)
  const columns = useMemo(() => withSortedShown(orgColumns, sort.column), [sort.column])
  const { data, ...query } = useInfiniteQuery(orgsQuery(queryOf(params, sort)))
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-3">
        <SearchField
          label="Find organization"
          placeholder="Name, code or email of a member"
          value={search.text}
          onChange={search.setText}
          className="max-sm:w-full"
        />
        <NativeSelect
          label="State"
          isLabelHidden
          options={states}
          value={params.state ?? ''}
          onChange={({ target }) => setSearch({ state: target.value || undefined })}
          className="w-48 max-sm:w-full"
        />
        {data && <p className="text-ink-3">{countText(data.total)}</p>}
      </div>
      <QueryTable
        label="Organizations"
        query={{ ...query, data: data?.rows }}
        columns={columns}
        idOf={idOf}
        nameOf={({ code }) => code}
        initialSort={initialSort}
        actions={useOrgActions()}
        empty={empty}
        moreLabel="Show more"
      />
    </>
  )
}

const idOf = ({ id }: OperatorOrg) => String(id)
const countText = (total: number) => (total === 1 ? '1 organization' : `${formatInteger(total)} organizations`)
