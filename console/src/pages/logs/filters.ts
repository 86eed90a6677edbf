import { getRouteApi } from '@tanstack/react-router'
import { useSearchText, useSetSearch, type SearchOf, type SetSearch } from '../../components/data-table/url-state.ts'
import { queryTimes, type TimeRanges } from '../../components/time-range/time-range.ts'
import type { Tone } from '../../ui/tones.ts'
import type { LogLevel } from '@shoal/contract'
import type { LogsQuery } from './feed/log-feed.ts'

const minuteMs = 60_000
const dayMs = 86_400_000

const defaultRange = { id: '2d', label: 'Last 2 days', ms: 2 * dayMs }

/** The ranges of spec 2.9. */
export const ranges: TimeRanges = {
  defaultRange,
  options: [
    { id: '15m', label: 'Last 15 minutes', ms: 15 * minuteMs },
    { id: '1h', label: 'Last hour', ms: 60 * minuteMs },
    { id: '6h', label: 'Last 6 hours', ms: 360 * minuteMs },
    { id: '1d', label: 'Last day', ms: dayMs },
    defaultRange,
    { id: '7d', label: 'Last 7 days', ms: 7 * dayMs },
  ],
}

/** The levels that users can select. `Info` includes notices, and `Error` includes higher levels, as in the public client. */
export const levels: { id: LogLevel; label: string }[] = [
  { id: 'DEBUG', label: 'Debug' },
  { id: 'INFO', label: 'Info' },
  { id: 'NOTICE', label: 'Notice' },
  { id: 'WARNING', label: 'Warning' },
  { id: 'ERROR', label: 'Error' },
  { id: 'CRITICAL', label: 'Critical' },
]

/** The tone of each level. */
export const levelTones: Record<LogLevel, Tone> = {
  DEBUG: 'neutral',
  INFO: 'info',
  NOTICE: 'info',
  WARNING: 'warn',
  ERROR: 'bad',
  CRITICAL: 'bad',
  FATAL: 'bad',
}

/** The levels that lines of a build can have. */
export const buildLevels = levels.filter(({ id }) => id === 'INFO' || id === 'WARNING' || id === 'ERROR')

/**
 * The value of the parameter `container` that selects the log of a build; the parameter `build` selects the deployment. No container can
 * have this name.
 */
export const buildSource = '@build'

const route = getRouteApi('/app/squids/$squidName/$squidSlot/logs')
export type LogsSearch = SearchOf<typeof route>

/** The filters in the URL. */
export const useLogsSearch = (): LogsSearch => route.useSearch()

/** Returns a function that changes filters in the URL, and removes the linked line unless `changes` contains one. */
export function useSetLogsSearch(): SetSearch<LogsSearch> {
  const setSearch = useSetSearch(route)
  return (changes, history) => setSearch({ line: undefined, ...changes }, history)
}

/** The searched text. `debounceMs` is the delay between the last key and the search. */
export const useLogsText = (debounceMs: number) => useSearchText(route, 'search', debounceMs)

/** The query for the filters in the URL. If the URL links to a line, the time range is ignored. */
export function logsQueryOf(search: LogsSearch, nowMs: number): LogsQuery {
  const { container, level, search: text, line } = search
  const { from, to } = line ? {} : queryTimes(ranges, search, nowMs)
  return { filter: { container, level, search: text }, from, to, line }
}
