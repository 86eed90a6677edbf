import { useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Chip } from '../../ui/Badge.tsx'
import { SearchField } from '../../ui/SearchField.tsx'
import { useSearchText, useSetSearch, type SearchRoute } from '../data-table/url-state.ts'
import { typeLabel } from './filter-chains.ts'

const noTypes: string[] = []

/** The search text and the selected types, which are parameters of the route's URL, and a function that selects or deselects a type. */
export function useChainFilters(route: SearchRoute<'/app/rpc'> | SearchRoute<'/app/portal/chains'>) {
  const search = useSearchText(route, 'search')
  const setSearch = useSetSearch(route)
  const selectedTypes = useSearch({ from: route.id }).type ?? noTypes
  const toggle = (toggled: string) =>
    setSearch({
      type: selectedTypes.includes(toggled)
        ? selectedTypes.filter((other) => other !== toggled)
        : [...selectedTypes, toggled],
    })
  return { search, selectedTypes, toggle }
}

type Props = {
  filters: ReturnType<typeof useChainFilters>
  label: string
  types: readonly string[]
  children?: ReactNode
}

/** A search field and one chip per type. */
export function ChainFilters({ filters: { search, selectedTypes, toggle }, label, types, children }: Props) {
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-2.5">
      <SearchField label={label} value={search.text} onChange={search.setText} className="max-xs:w-full" />
      <div role="group" aria-label="Type" className="flex flex-wrap gap-2">
        {types.map((type) => (
          <Chip key={type} isOn={selectedTypes.includes(type)} onClick={() => toggle(type)}>
            {typeLabel(type)}
          </Chip>
        ))}
      </div>
      {children && <div className="ml-auto flex items-center gap-2 max-xs:ml-0">{children}</div>}
    </div>
  )
}
