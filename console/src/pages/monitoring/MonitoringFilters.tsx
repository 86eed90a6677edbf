import { RotateCcw } from 'lucide-react'
import { useMemo, useState } from 'react'
import { LazyMultiSelect, LazySelect } from '../../components/LazySelect.tsx'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { formatChartTime, formatDayMonth } from '../../lib/format.ts'
import { Button } from '../../ui/Button.tsx'
import {
  allTags,
  containerTypes,
  defaultTimeframe,
  pickTags,
  timeframes,
  timeSpanOf,
  useMonitoringSearch,
  type ContainerType,
  type Timeframe,
} from './filters.ts'
import type { LineStyle } from './lines.ts'

const notZoomed = { from: undefined, to: undefined }

/** Spec 2.10. All of it is in the address. */
export function MonitoringFilters({ lines }: { lines: readonly LineStyle[] }) {
  const search = useMonitoringSearch()
  const setSearch = useSetSearch()
  const { container_type: type = 'all', tag = [allTags] } = search
  const timeSpan = timeSpanOf(search)
  // Include selected tags that no version has any more, so that the user can clear them.
  const tags = useMemo(() => {
    const options = new Set([...lines.flatMap((line) => line.tags), ...tag])
    options.delete(allTags)
    return [...options].toSorted((a, b) => a.localeCompare(b))
  }, [lines, tag])
  const pickTimeframe = (id: Timeframe) =>
    setSearch({ ...notZoomed, timeframe: id === defaultTimeframe ? undefined : id })
  return (
    <div className="flex flex-wrap items-center gap-2">
      <LazySelect
        label="Timeframe"
        className="w-37 max-xs:flex-1"
        options={timeframes}
        value={'timeframe' in timeSpan ? timeSpan.timeframe : null}
        onChange={pickTimeframe}
        placeholder="Zoomed"
      />
      <LazySelect
        label="Container type"
        className="w-37 max-xs:flex-1"
        options={containerTypes}
        value={type}
        onChange={(id: ContainerType) => setSearch({ container_type: id === 'all' ? undefined : id })}
      />
      <TagFilter
        tags={tags}
        value={tag}
        onChange={(chosen) => setSearch({ tag: chosen.includes(allTags) ? undefined : chosen })}
      />
      {'from' in timeSpan && (
        <>
          <span className="tabular text-sm text-ink-2">{spanOf(timeSpan.from, timeSpan.to)}</span>
          <Button size={28} icon={<RotateCcw size={13} aria-hidden />} onClick={() => setSearch(notZoomed)}>
            Reset zoom
          </Button>
        </>
      )}
    </div>
  )
}

/** `02.09 14:03 – 15:10` */
function spanOf(from: string, to: string): string {
  const full = (time: string) => formatChartTime(time, Infinity)
  const isOneDay = formatDayMonth(from) === formatDayMonth(to)
  return `${full(from)} – ${isOneDay ? formatChartTime(to, 0) : full(to)}`
}

type Props = { tags: readonly string[]; value: readonly string[]; onChange: (tags: string[]) => void }

/** Spec 2.10: an empty selection is ignored, and the previous one is restored when the list closes. */
function TagFilter({ tags, value, onChange }: Props) {
  const [isEmptied, setIsEmptied] = useState(false)
  const pick = (ticked: string[]) => {
    const next = pickTags(isEmptied ? [] : value, ticked)
    setIsEmptied(next.length === 0)
    if (next.length > 0) onChange(next)
  }
  return (
    <LazyMultiSelect
      label="Tags"
      className="w-37 max-xs:flex-1"
      none="Choose tags"
      options={[{ id: allTags, label: 'All tags' }, ...tags.map((id) => ({ id, label: id }))]}
      value={isEmptied ? [] : value}
      onChange={pick}
      onOpenChange={(isOpen) => !isOpen && setIsEmptied(false)}
    />
  )
}
