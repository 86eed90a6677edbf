import { displayStatusLabels, squidDisplayStatuses, type SquidSummary } from '@shoal/contract'
import { getRouteApi } from '@tanstack/react-router'
import { lazy, Suspense, useMemo, type ComponentProps } from 'react'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { SearchField } from '../../ui/SearchField.tsx'
import type { MultiSelect as MultiSelectOfUi } from '../../ui/Select.tsx'
import { tagsOf } from './filter-squids.ts'

/** Resolves when the browser is idle, at the latest after a second. Safari has no requestIdleCallback. */
const whenIdle = () =>
  new Promise<unknown>((idle) =>
    typeof requestIdleCallback === 'function' ? requestIdleCallback(idle, { timeout: 1000 }) : setTimeout(idle, 200),
  )

// Load the select after the rows, because its code is larger than the page's.
const MultiSelect = lazy(async () => {
  await whenIdle()
  return { default: (await import('../../ui/Select.tsx')).MultiSelect }
})

const route = getRouteApi('/app/squids')
const statusOptions = squidDisplayStatuses.map((id) => ({ id, label: displayStatusLabels[id] }))

type Props = { squids: readonly SquidSummary[]; text: string; onText: (text: string) => void }

/** The filters of the list. All of them are in the URL (spec 2.7). */
export function SquidFilters({ squids, text, onText }: Props) {
  const { status = [], tag = [] } = route.useSearch()
  const setSearch = useSetSearch()
  // Include selected tags that no version has any more, so that the user can clear them.
  const tags = useMemo(() => [...new Set([...tagsOf(squids), ...tag])].map((id) => ({ id, label: id })), [squids, tag])
  return (
    <div className="mb-3 flex flex-wrap gap-2">
      <SearchField label="Find squid" value={text} onChange={onText} className="max-xs:w-full" />
      <Filter
        label="Status"
        none="Any status"
        options={statusOptions}
        value={status}
        onChange={(chosen) => setSearch({ status: chosen })}
      />
      <Filter label="Tag" none="Any tag" options={tags} value={tag} onChange={(chosen) => setSearch({ tag: chosen })} />
    </div>
  )
}

type FilterProps = Pick<ComponentProps<typeof MultiSelectOfUi>, 'label' | 'none' | 'options' | 'value'> & {
  onChange: (chosen: string[]) => void
}

/** Reserves the space until the code is loaded. */
function Filter(props: FilterProps) {
  return (
    <Suspense fallback={<Skeleton className="h-8 w-38 max-xs:flex-1" />}>
      <MultiSelect {...props} isLabelHidden className="w-38 max-xs:flex-1" />
    </Suspense>
  )
}
