import { orgStatuses, planLabels, type OrgStatus } from '@shoal/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { Prefetch } from '../../api/prefetch.ts'
import { sortIn, useSetSearch, useUrlSort, type SearchOf } from '../../components/data-table/url-state.ts'
import { NativeSelect } from '../../ui/NativeSelect.tsx'
import { OperatorList } from './OperatorList.tsx'
import { orgColumns } from './org-columns.tsx'
import { orgsQuery } from './queries.ts'
import { withSortedShown } from './usage-columns.tsx'
import { useOrgActions } from './use-org-actions.tsx'

const route = getRouteApi('/app/admin/organizations')
type Search = SearchOf<typeof route>

const initialSort = { column: 'cost', order: 'desc' } as const

/** Labels that replace those of the plan. IN_DEBT and TERMINATED have the same plan label, so the filter needs another label for one. */
const stateLabels: Partial<Record<OrgStatus, string>> = { TERMINATED: 'Unpaid, hibernated' }

const states = [
  { id: '', label: 'All states' },
  { id: 'SUSPENDED', label: 'Suspended' },
  ...orgStatuses.map((id) => ({ id, label: stateLabels[id] ?? planLabels[id] })),
  { id: 'PLAYGROUND', label: 'Playgrounds' },
] as const

/** The selected state; undefined for all states or an unknown one. */
const selectedState = ({ state }: Search) => states.find(({ id }) => id === state)?.id || undefined

const queryOf = (search: Search) =>
  orgsQuery({ ...sortIn(search, initialSort), search: search.search, state: selectedState(search) })

export const prefetch: Prefetch = ({ client, search }) => void client.prefetchInfiniteQuery(queryOf(search))

const empty = {
  title: 'No organizations match',
  text: 'Search for a part of the name or code, or for the full email of a member.',
}

/** The list of all organizations, with their usage and cost. */
export default function OrgsTab() {
  const search = route.useSearch()
  const setSearch = useSetSearch(route)
  const sort = useUrlSort(route, initialSort)
  const columns = useMemo(() => withSortedShown(orgColumns, sort.sort.column), [sort.sort.column])
  return (
    <OperatorList
      route={route}
      noun="organization"
      placeholder="Name, code or email of a member"
      query={useInfiniteQuery(queryOf(search))}
      columns={columns}
      nameOf={({ code }) => code}
      sort={sort}
      actions={useOrgActions()}
      empty={empty}
    >
      <NativeSelect
        label="State"
        isLabelHidden
        options={states}
        value={selectedState(search) ?? ''}
        onChange={({ target }) => setSearch({ state: target.value || undefined })}
        className="w-48 max-sm:w-full"
      />
    </OperatorList>
  )
}
