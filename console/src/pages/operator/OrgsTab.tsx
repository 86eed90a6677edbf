import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Prefetch } from '../../api/prefetch.ts'
import { sortIn, useUrlSort, type SearchOf } from '../../components/data-table/url-state.ts'
import { OperatorList } from './OperatorList.tsx'
import { selectedState, StateFilter } from './StateFilter.tsx'
import { orgColumns } from './org-columns.tsx'
import { orgsQuery } from './queries.ts'
import { useOrgActions } from './use-org-actions.tsx'

const route = getRouteApi('/app/admin/organizations')
type Search = SearchOf<typeof route>

const initialSort = { column: 'cost', order: 'desc' } as const
const queryOf = (search: Search) =>
  orgsQuery({ ...sortIn(search, initialSort), search: search.search, state: selectedState(search.state) })

export const prefetch: Prefetch = ({ client, search }) => void client.prefetchInfiniteQuery(queryOf(search))
const emptyText = 'Search for a part of the name or code, or for the full email of a member.'

/** The list of all organizations, with their usage and cost. */
export default function OrgsTab() {
  return (
    <OperatorList
      route={route}
      noun="organization"
      placeholder="Name, code or email of a member"
      query={useInfiniteQuery(queryOf(route.useSearch()))}
      columns={orgColumns}
      nameOf={({ code }) => code}
      sort={useUrlSort(route, initialSort)}
      actions={useOrgActions()}
      empty={{ title: 'No organizations match', text: emptyText }}
    >
      <StateFilter />
    </OperatorList>
  )
}
