import type { SquidSummary } from '@shoal/contract'
import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Pin } from 'lucide-react'
import { useCallback, useMemo } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { onlyIf } from '../../api/query.ts'
import { ingressQuery, setVisibleSquids } from '../../api/squids.ts'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { useSearchText, useSetSearch, useUrlSort } from '../../components/data-table/url-state.ts'
import { useVersionActions } from '../../components/squid/use-version-actions.ts'
import { countOf } from '../../lib/format.ts'
import { Button } from '../../ui/Button.tsx'
import { weekOfRequests } from './daily-requests.ts'
import { FailedFirstDeployments } from './FailedFirstDeployments.tsx'
import { filterSquids } from './filter-squids.ts'
import { RequestsContext, squidColumns } from './squid-columns.tsx'
import { SquidFilters } from './SquidFilters.tsx'
import { SquidsHeader } from './SquidsHeader.tsx'
import { usePins } from './use-pins.tsx'

const route = getRouteApi('/app/squids')
const initialSort = { column: 'name', order: 'asc' } as const
const noSelection: readonly string[] = []
const nameOf = ({ name }: SquidSummary) => name
const referenceOf = ({ reference }: SquidSummary) => reference

/** The list of versions, grouped by squid, with its header and filters. */
export function SquidList({ squids }: { squids: UseQueryResult<SquidSummary[]> }) {
  const navigate = useNavigate()
  const { status = noSelection, tag = noSelection } = route.useSearch()
  const { text, deferred, setText } = useSearchText(route, 'search')
  const setSearch = useSetSearch(route)
  const { actionsOf, menuDisabledReason } = useVersionActions()
  const pins = usePins()
  const requests = useRequests(squids.data !== undefined)
  const filter = useCallback(
    (rows: readonly SquidSummary[]) => filterSquids(rows, { search: deferred, status, tag }),
    [deferred, status, tag],
  )
  const search = deferred.trim()
  const clear = () => {
    setText('')
    setSearch({ search: undefined, status: undefined, tag: undefined })
  }
  return (
    <>
      <SquidsHeader squids={squids} />
      {squids.data && <FailedFirstDeployments squids={squids.data} />}
      {(squids.data || !squids.error) && <SquidFilters squids={squids.data} text={text} onTextChange={setText} />}
      <RequestsContext value={requests}>
        <QueryTable
          label="Squids"
          query={squids}
          filter={filter}
          columns={squidColumns}
          idOf={referenceOf}
          sort={useUrlSort(route, initialSort)}
          groupOf={nameOf}
          firstGroups={pins.names}
          renderGroupHead={(name, { length }) => (
            <>
              {pins.isPinned(name) && <Pin size={14} aria-label="Pinned" className="mr-1.5 inline text-accent" />}
              {name} <span className="ml-1 font-normal text-ink-3">{countOf(length, 'version')}</span>
            </>
          )}
          onOpen={({ name: squidName, slot: squidSlot }) =>
            void navigate({ to: '/squids/$squidName/$squidSlot', params: { squidName, squidSlot } })
          }
          actions={(squid) => [...actionsOf(squid), pins.actionOf(squid.name)]}
          menuDisabledReason={menuDisabledReason}
          onVisible={setVisibleSquids}
          empty={{
            title: search === '' ? 'No squids found' : `No squids found: ${search}`,
            text: 'No version matches the search and the filters.',
            action: <Button onClick={clear}>Clear filters</Button>,
          }}
        />
      </RequestsContext>
    </>
  )
}

/** The requests of the last week; null while loading. They load after the rows, so that they do not delay the rows. */
function useRequests(areRowsLoaded: boolean) {
  const ingress = useQuery(onlyIf(areRowsLoaded, ingressQuery(useOrg().code)))
  return useMemo(
    () => (ingress.data ? weekOfRequests(ingress.data, ingress.dataUpdatedAt) : null),
    // The query keeps the same object for equal data, so that the bars render again only when a response differs.
    // oxlint-disable-next-line react/exhaustive-deps
    [ingress.data],
  )
}
