import { displayStatusLabels, squidDisplayStatuses, type SquidSummary } from '@shoal/contract'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import { LazyMultiSelect } from '../../components/LazySelect.tsx'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { SearchField } from '../../ui/SearchField.tsx'
import { tagsOf } from './filter-squids.ts'

const route = getRouteApi('/app/squids')
const statusOptions = squidDisplayStatuses.map((id) => ({ id, label: displayStatusLabels[id] }))

type Props = {
  /** Undefined while loading. */
  squids: readonly SquidSummary[] | undefined
  text: string
  onTextChange: (text: string) => void
}

/** The filters of the list, whose state is in the URL (spec 2.7). */
export function SquidFilters({ squids, text, onTextChange }: Props) {
  const { status = [], tag = [] } = route.useSearch()
  const setSearch = useSetSearch(route)
  // The options include selected tags that no version has any more, so that the user can deselect them.
  const tags = useMemo(
    () => [...new Set([...tagsOf(squids ?? []), ...tag])].map((id) => ({ id, label: id })),
    [squids, tag],
  )
  return (
    <div className="mb-3 flex flex-wrap gap-2">
      <SearchField label="Find squid" value={text} onChange={onTextChange} className="max-xs:w-full" />
      <LazyMultiSelect
        className="w-38 max-xs:flex-1"
        label="Status"
        none="Any status"
        options={statusOptions}
        value={status}
        onChange={(selected) => setSearch({ status: selected })}
      />
      <LazyMultiSelect
        className="w-38 max-xs:flex-1"
        label="Tag"
        none="Any tag"
        options={tags}
        value={tag}
        onChange={(selected) => setSearch({ tag: selected })}
      />
    </div>
  )
}
