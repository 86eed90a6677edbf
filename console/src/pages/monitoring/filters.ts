import { getRouteApi } from '@tanstack/react-router'
import { useSetSearch, type SearchOf, type SetSearch } from '../../components/data-table/url-state.ts'

const hourMs = 3_600_000

/** The timeframes of spec 2.10, with the labels it specifies. */
export const timeframes = [
  { id: '1h', label: 'Last hour', ms: hourMs },
  { id: '6h', label: '6h', ms: 6 * hourMs },
  { id: '12h', label: '12h', ms: 12 * hourMs },
  { id: '24h', label: '24h', ms: 24 * hourMs },
  { id: '2d', label: '2 days', ms: 48 * hourMs },
  { id: '7d', label: '7 days', ms: 168 * hourMs },
] as const
export type Timeframe = (typeof timeframes)[number]['id']
/** The timeframe if the URL contains none. */
export const defaultTimeframe: Timeframe = '24h'

/** The options of the filter by type of container (spec 2.10). */
export const containerTypes = [
  { id: 'all', label: 'All containers' },
  { id: 'db', label: 'DB' },
  { id: 'api', label: 'API' },
  { id: 'processor', label: 'Processor' },
] as const
export type ContainerType = (typeof containerTypes)[number]['id']

const route = getRouteApi('/app/monitoring')
export type MonitoringSearch = SearchOf<typeof route>

/** The filters in the URL. */
export const useMonitoringSearch = (): MonitoringSearch => route.useSearch()
/** Returns a function that changes the filters in the URL. */
export const useSetMonitoringSearch = (): SetSearch<MonitoringSearch> => useSetSearch(route)

/** The displayed period: a timeframe up to now, or a zoomed range. It is part of query keys. */
export type TimeSpan = { timeframe: Timeframe } | { from: string; to: string }

/** Reads the displayed period from the URL. An invalid zoom is ignored. */
export function timeSpanOf({ timeframe = defaultTimeframe, from, to }: MonitoringSearch): TimeSpan {
  const isZoomed = from !== undefined && to !== undefined && Date.parse(from) < Date.parse(to)
  return isZoomed ? { from, to } : { timeframe }
}

/** The start and end of the time span. A timeframe ends now. */
export function timesOf(timeSpan: TimeSpan, nowMs: number): { fromMs: number; toMs: number } {
  if ('from' in timeSpan) return { fromMs: Date.parse(timeSpan.from), toMs: Date.parse(timeSpan.to) }
  const { ms } = timeframes.find(({ id }) => id === timeSpan.timeframe) ?? { ms: 24 * hourMs }
  return { fromMs: nowMs - ms, toMs: nowMs }
}

/** A shorter zoom would contain too few samples, which are fifteen seconds apart. */
const minSpanSeconds = 120

/** The URL parameters of a range that the user selected in a chart, extended on both sides to at least two minutes. */
export function zoomTo(fromSeconds: number, toSeconds: number): { from: string; to: string } {
  const paddingSeconds = Math.max(0, minSpanSeconds - (toSeconds - fromSeconds)) / 2
  const iso = (seconds: number) => new Date(Math.round(seconds) * 1000).toISOString()
  return { from: iso(fromSeconds - paddingSeconds), to: iso(toSeconds + paddingSeconds) }
}

/** The id of the option that selects all versions, with or without tags. `*` is not a valid tag name. */
export const allTags = '*'

/**
 * The selection after a change: either `All tags` or single tags, never both. If the result is empty, the caller must ignore the change
 * (spec 2.10).
 */
export function nextTags(previous: readonly string[], selected: readonly string[]): string[] {
  const isAllJustSelected = selected.includes(allTags) && !previous.includes(allTags)
  return isAllJustSelected ? [allTags] : selected.length > 1 ? selected.filter((tag) => tag !== allTags) : [...selected]
}
