import type { ReactNode } from 'react'
import { Chip } from '../../ui/Badge.tsx'
import { SearchField } from '../../ui/SearchField.tsx'
import { useSetSearch, useSearchText } from '../data-table/url-state.ts'
import { typeLabel } from './filter-chains.ts'

/** The search text and the selected types, which the URL stores. `type` is the parameter of the query string. */
export function useChainFilters(type: readonly string[] | undefined) {
  const search = useSearchText('search')
  const setSearch = useSetSearch()
  const selectedTypes = type ?? []
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
