import { displayStatusLabels, squidDisplayStatuses, type SquidSummary } from '@shoal/contract'
import { getRouteApi } from '@tanstack/react-router'
import { Suspense, useMemo, type ComponentProps } from 'react'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { lazyPart } from '../../lib/lazy.tsx'
import { whenIdle } from '../../lib/when-idle.ts'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { SearchField } from '../../ui/SearchField.tsx'
import type { MultiSelect as MultiSelectComponent } from '../../ui/Select.tsx'
import { tagsOf } from './filter-squids.ts'

// The select is loaded after the rows, because its code is larger than the page's.
const MultiSelect = lazyPart(async () => {
  await whenIdle()
  return { default: (await import('../../ui/Select.tsx')).MultiSelect }
})

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
  // Includes selected tags that are no longer on any version, so that the user can deselect them.
  const tags = useMemo(
    () => [...new Set([...tagsOf(squids ?? []), ...tag])].map((id) => ({ id, label: id })),
    [squids, tag],
  )
  return (
    <div className="mb-3 flex flex-wrap gap-2">
      <SearchField label="Find squid" value={text} onChange={onTextChange} className="max-xs:w-full" />
      <Filter
        isReady={squids !== undefined}
        label="Status"
        none="Any status"
        options={statusOptions}
        value={status}
        onChange={(selected) => setSearch({ status: selected })}
      />
      <Filter
        isReady={squids !== undefined}
        label="Tag"
        none="Any tag"
        options={tags}
        value={tag}
        onChange={(selected) => setSearch({ tag: selected })}
      />
    </div>
  )
}

type FilterProps = Pick<ComponentProps<typeof MultiSelectComponent>, 'label' | 'none' | 'options' | 'value'> & {
  /** Whether its code may load: not before the rows. */
  isReady: boolean
  onChange: (selected: string[]) => void
}

/** A lazily loaded select, with a skeleton of the same size. */
function Filter({ isReady, ...props }: FilterProps) {
  const skeleton = <Skeleton className="h-8 w-38 max-xs:flex-1" />
  if (!isReady) return skeleton
  return (
    <Suspense fallback={skeleton}>
      <MultiSelect {...props} isLabelHidden className="w-38 max-xs:flex-1" />
    </Suspense>
  )
}
