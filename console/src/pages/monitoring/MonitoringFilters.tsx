import { RotateCcw } from 'lucide-react'
import { useMemo, useState } from 'react'
import { LazyMultiSelect, LazySelect } from '../../components/LazySelect.tsx'
import { formatChartTime, formatDayMonth } from '../../lib/format.ts'
import { Button } from '../../ui/Button.tsx'
import {
  allTags,
  containerTypes,
  defaultTimeframe,
  nextTags,
  timeframes,
  timeSpanOf,
  useMonitoringSearch,
  useSetMonitoringSearch,
  type ContainerType,
  type Timeframe,
} from './filters.ts'
import type { LineStyle } from './lines.ts'

const withoutZoom = { from: undefined, to: undefined }

/** The filters of spec 2.10, whose state is in the URL. */
export function MonitoringFilters({ lines }: { lines: readonly LineStyle[] }) {
  const search = useMonitoringSearch()
  const setSearch = useSetMonitoringSearch()
  const { container_type: type = 'all', tag = [allTags] } = search
  const timeSpan = timeSpanOf(search)
  // The options include selected tags that no version has any more, so that the user can deselect them.
  const tags = useMemo(() => {
    const options = new Set([...lines.flatMap((line) => line.tags), ...tag])
    options.delete(allTags)
    return [...options].toSorted((a, b) => a.localeCompare(b))
  }, [lines, tag])
  const pickTimeframe = (id: Timeframe) =>
    setSearch({ ...withoutZoom, timeframe: id === defaultTimeframe ? undefined : id })
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
        onChange={(selected) => setSearch({ tag: selected.includes(allTags) ? undefined : selected })}
      />
      {'from' in timeSpan && (
        <>
          <span className="tabular text-sm text-ink-2">{formatTimeSpan(timeSpan.from, timeSpan.to)}</span>
          <Button size={28} icon={<RotateCcw size={13} aria-hidden />} onClick={() => setSearch(withoutZoom)}>
            Reset zoom
          </Button>
        </>
      )}
    </div>
  )
}

/** Formats a time span as `02.09 14:03 – 15:10`, with the second date if it differs. */
function formatTimeSpan(from: string, to: string): string {
  const dateAndTime = (time: string) => formatChartTime(time, Infinity)
  const isOneDay = formatDayMonth(from) === formatDayMonth(to)
  return `${dateAndTime(from)} – ${isOneDay ? formatChartTime(to, 0) : dateAndTime(to)}`
}

type Props = { tags: readonly string[]; value: readonly string[]; onChange: (tags: string[]) => void }

/** Selects tags. An empty selection is ignored, and the previous one is restored when the list closes (spec 2.10). */
function TagFilter({ tags, value, onChange }: Props) {
  const [isCleared, setIsCleared] = useState(false)
  const changeTags = (selected: string[]) => {
    const next = nextTags(isCleared ? [] : value, selected)
    setIsCleared(next.length === 0)
    if (next.length > 0) onChange(next)
  }
  return (
    <LazyMultiSelect
      label="Tags"
      className="w-37 max-xs:flex-1"
      none="Choose tags"
      options={[{ id: allTags, label: 'All tags' }, ...tags.map((id) => ({ id, label: id }))]}
      value={isCleared ? [] : value}
      onChange={changeTags}
      onOpenChange={(isOpen) => !isOpen && setIsCleared(false)}
    />
  )
}
