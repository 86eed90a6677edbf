import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import type { Prefetch } from '../../api/prefetch.ts'
import { sortIn, useUrlSort, type SearchOf } from '../../components/data-table/url-state.ts'
import { OperatorList } from './OperatorList.tsx'
import { operatorSquidsQuery } from './queries.ts'
import { referenceOf } from './reference-of.ts'
import { squidColumns } from './squid-columns.tsx'
import { useSquidActions } from './use-squid-actions.tsx'

const route = getRouteApi('/app/admin/squids')
type Search = SearchOf<typeof route>

const initialSort = { column: 'cpu', order: 'desc' } as const
const queryOf = (search: Search) => operatorSquidsQuery({ ...sortIn(search, initialSort), search: search.search })

export const prefetch: Prefetch = ({ client, search }) => void client.prefetchInfiniteQuery(queryOf(search))

const empty = {
  title: 'No squids match',
  text: 'Squids of all organizations are listed here. Search for a part of name@slot, or for the code of an organization.',
}

/** The list of the versions of all organizations; by default, those that use the most CPU are first. */
export default function SquidsTab() {
  return (
    <OperatorList
      route={route}
      noun="squid"
      placeholder="Squid or organization"
      query={useInfiniteQuery(queryOf(route.useSearch()))}
      columns={squidColumns}
      nameOf={referenceOf}
      sort={useUrlSort(route, initialSort)}
      actions={useSquidActions()}
      empty={empty}
    />
  )
}
