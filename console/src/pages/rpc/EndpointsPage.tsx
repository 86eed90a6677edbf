import type { RpcChain } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useOrg } from '../../api/active-org.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { ChainFilters, useChainFilters } from '../../components/chains/ChainFilters.tsx'
import { ChainGrid, ChainGridSkeleton } from '../../components/chains/ChainGrid.tsx'
import { filterChains, typesOf } from '../../components/chains/filter-chains.ts'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { QueryView } from '../../components/QueryView.tsx'
import { TeamOnly } from '../../components/access.tsx'
import { formatCount } from '../../lib/format.ts'
import { Chip } from '../../ui/Badge.tsx'
import { RpcHeader } from './RpcHeader.tsx'
import { chainsQuery } from './queries.ts'

export const prefetch: Prefetch = ({ client, org }) => {
  if (!org.limits.playground) void client.prefetchQuery(chainsQuery(org.code))
}

const route = getRouteApi('/app/rpc')

const byUsage = (a: RpcChain, b: RpcChain) => Number(b.requests) - Number(a.requests) || a.title.localeCompare(b.title)

const requestCountOf = ({ requests }: RpcChain) =>
  Number(requests) > 0 && (
    <span className="tabular" data-tip="Requests this month">
      {formatCount(Number(requests))} req.
    </span>
  )

/** The list of RPC endpoints (spec 2.11, `/rpc`). */
export default function EndpointsPage() {
  return (
    <TeamOnly>
      <RpcHeader />
      <Endpoints />
    </TeamOnly>
  )
}

function Endpoints() {
  const { code } = useOrg()
  const { sortBy = 'name' } = route.useSearch()
  const chains = useQuery(chainsQuery(code))
  const filters = useChainFilters(route)
  const setSearch = useSetSearch(route)
  const {
    search: { deferred },
    selectedTypes,
  } = filters
  const sortedChains = useMemo(() => {
    const filteredChains = filterChains(chains.data ?? [], deferred, selectedTypes)
    // The server sorts by name.
    return sortBy === 'usage' ? filteredChains.sort(byUsage) : filteredChains
  }, [chains.data, deferred, selectedTypes, sortBy])
  return (
    <>
      <ChainFilters
        filters={filters}
        label="Find endpoint"
        types={chains.data ? typesOf(chains.data) : ['evm', 'substrate']}
      >
        <span id="sort-label" className="text-sm text-ink-3">
          Sort by
        </span>
        <div role="group" aria-labelledby="sort-label" className="flex gap-2">
          <Chip isOn={sortBy === 'name'} onClick={() => setSearch({ sortBy: undefined })}>
            Name
          </Chip>
          <Chip isOn={sortBy === 'usage'} onClick={() => setSearch({ sortBy: 'usage' })}>
            Usage
          </Chip>
        </div>
      </ChainFilters>
      <QueryView query={chains} what="The RPC endpoints" skeleton={<ChainGridSkeleton />}>
        {() => (
          <ChainGrid
            label="RPC endpoints"
            items={sortedChains}
            search={deferred}
            to="/rpc/chains/$id"
            detailOf={requestCountOf}
          />
        )}
      </QueryView>
    </>
  )
}
