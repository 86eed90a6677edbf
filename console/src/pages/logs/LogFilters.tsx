import type { Squid } from '@shoal/contract'
import type { ReactNode } from 'react'
import { LazyMultiSelect } from '../../components/LazySelect.tsx'
import { TimeRangePicker } from '../../components/time-range/TimeRangePicker.tsx'
import { SearchField } from '../../ui/SearchField.tsx'
import { buildLevels, buildSource, levels, ranges, useLogsSearch, useLogsText, useSetLogsSearch } from './filters.ts'
import { useDisplay } from './view/display.ts'

/** Delay between the last keystroke and the search (spec 2.9). */
const searchDebounceMs = 500

type Props = {
  squid: Pick<Squid, 'processors' | 'api' | 'addons'>
  /** The field that selects a build. The log of a build has this field instead of the time range. */
  build?: ReactNode
}

/** The filters of the logs, whose state is in the URL. */
export function LogFilters({ squid, build }: Props) {
  const isBuild = build !== undefined
  const options = isBuild ? buildLevels : levels
  const { isUtc } = useDisplay()
  const search = useLogsSearch()
  const setSearch = useSetLogsSearch()
  const { text, setText } = useLogsText(searchDebounceMs)
  return (
    <div className="flex min-w-0 flex-1 basis-160 flex-wrap items-center gap-2">
      {build ?? <TimeRangePicker ranges={ranges} search={search} isUtc={isUtc} onChange={setSearch} />}
      <LazyMultiSelect
        label="Containers"
        className="w-37 max-xs:flex-1"
        none="All containers"
        options={[{ id: buildSource, label: 'Build' }, ...containerNamesOf(squid).map((id) => ({ id, label: id }))]}
        value={search.container ?? []}
        onChange={(container) => setSearch({ container: withOneSource(container, isBuild) })}
      />
      <LazyMultiSelect
        label="Levels"
        className="w-37 max-xs:flex-1"
        none="All levels"
        options={options}
        value={options.flatMap(({ id }) => (search.level?.includes(id) ? [id] : []))}
        onChange={(level) => setSearch({ level })}
      />
      <SearchField label="Search logs" value={text} onChange={setText} className="max-w-96 min-w-44 flex-1 basis-44" />
    </div>
  )
}

/** The log of a build is shown without other logs: selecting the build deselects the containers, and selecting a container deselects the build. */
const withOneSource = (container: string[], wasBuild: boolean): string[] =>
  container.includes(buildSource) && !wasBuild
    ? [buildSource]
    : container.filter((id) => id !== buildSource || container.length === 1)

const containerNamesOf = ({ processors = [], api, addons }: Pick<Squid, 'processors' | 'api' | 'addons'>): string[] => [
  'init',
  ...(api ? ['api'] : []),
  ...(addons.hasura ? ['hasura'] : []),
  ...processors.map(({ name }) => name),
]
