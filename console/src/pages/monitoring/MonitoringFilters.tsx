import { RotateCcw } from 'lucide-react'
import { useMemo } from 'react'
import { useSetSearch } from '../../components/data-table/url-state.ts'
import { LazySelect } from '../../components/LazySelect.tsx'
import { formatChartTime, formatDayMonth } from '../../lib/format.ts'
import { Button } from '../../ui/Button.tsx'
import {
  allTags,
  containerTypes,
  defaultTimeframe,
  stretchOf,
  timeframes,
  useMonitoringSearch,
  type ContainerType,
  type Timeframe,
} from './filters.ts'
import type { LineLook } from './lines.ts'
import { TagFilter } from './TagFilter.tsx'

const notZoomed = { from: undefined, to: undefined }

/** Spec 2.10. All of it is in the address. */
export function MonitoringFilters({ looks }: { looks: readonly LineLook[] }) {
  const search = useMonitoringSearch()
  const setSearch = useSetSearch()
  const { container_type: type = 'all', tag = [allTags] } = search
  const stretch = stretchOf(search)
  // Also those of the address that no version has any more: otherwise they could not be taken away.
  const tags = useMemo(() => {
    const known = new Set([...looks.flatMap((look) => look.tags), ...tag])
    known.delete(allTags)
    return [...known].toSorted((a, b) => a.localeCompare(b))
  }, [looks, tag])
  const pickTimeframe = (id: Timeframe) =>
    setSearch({ ...notZoomed, timeframe: id === defaultTimeframe ? undefined : id })
  return (
    <div className="flex flex-wrap items-center gap-2">
      <LazySelect
        label="Timeframe"
        className="w-37 max-xs:flex-1"
        options={timeframes}
        value={'timeframe' in stretch ? stretch.timeframe : null}
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
      {'from' in stretch && (
        <>
          <span className="tabular text-sm text-ink-2">{spanOf(stretch.from, stretch.to)}</span>
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
