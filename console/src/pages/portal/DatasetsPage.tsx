import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import { useOrg } from '../../api/active-org.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { q } from '../../api/query.ts'
import { ChainFilters, useChainFilters } from '../../components/chains/ChainFilters.tsx'
import { ChainGrid, ChainGridSkeleton } from '../../components/chains/ChainGrid.tsx'
import { filterChains, typesOf } from '../../components/chains/filter-chains.ts'
import { PageHeader } from '../../components/PageHeader.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { isPortalVisible, PortalOnly } from './PortalOnly.tsx'

const route = getRouteApi('/app/portal/chains')
const datasetsQuery = (code: string) => q('portal.listDatasets', { params: { code } }, { staleTime: 60_000 })

export const prefetch: Prefetch = ({ client, org }) => {
  if (isPortalVisible(org)) void client.prefetchQuery(datasetsQuery(org.code))
}

/** The list of datasets (spec 2.11, `/portal/chains`). */
export default function DatasetsPage() {
  return (
    <PortalOnly>
      <PageHeader title="Portal" context="Datasets that squids read blocks from, much faster than from a node." />
      <Datasets />
    </PortalOnly>
  )
}

function Datasets() {
  const { code } = useOrg()
  const datasets = useQuery(datasetsQuery(code))
  const filters = useChainFilters(route)
  const {
    search: { deferred },
    selectedTypes,
  } = filters
  const types = useMemo(() => typesOf(datasets.data ?? []), [datasets.data])
  const filteredDatasets = useMemo(
    () => filterChains(datasets.data ?? [], deferred, selectedTypes),
    [datasets.data, deferred, selectedTypes],
  )
  return (
    <>
      <ChainFilters filters={filters} label="Find dataset" types={types} />
      <QueryView query={datasets} what="The datasets" skeleton={<ChainGridSkeleton />}>
        {() => <ChainGrid label="Datasets" items={filteredDatasets} search={deferred} to="/portal/chains/$id" />}
      </QueryView>
    </>
  )
}
