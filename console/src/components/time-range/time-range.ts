/** A time range in the URL: a named one, or `from` and `to`, which take precedence. */
export type RangeSearch = { range?: string | undefined; from?: string | undefined; to?: string | undefined }

type RangeOption = { id: string; label: string; ms: number }

/** The named ranges of a page and its default. */
export type TimeRanges = { options: readonly RangeOption[]; defaultRange: RangeOption }

/** The named range in the URL, even if `from` and `to` take precedence. */
export const namedRange = ({ options, defaultRange }: TimeRanges, { range }: RangeSearch): RangeOption =>
  options.find(({ id }) => id === range) ?? defaultRange

/** Whether `from` or `to` define the range. */
export const isCustom = ({ from, to }: RangeSearch): boolean => Boolean(from || to)

/** The URL parameters of a named range. */
export const searchOfNamed = ({ defaultRange }: TimeRanges, id: string): RangeSearch => ({
  range: id === defaultRange.id ? undefined : id,
  from: undefined,
  to: undefined,
})

/** The URL parameters of a custom range. If the range was named, they have its times. */
export function searchOfCustom(ranges: TimeRanges, search: RangeSearch, nowMs: number): RangeSearch {
  if (isCustom(search)) return search
  const { ms } = namedRange(ranges, search)
  return { ...search, from: new Date(nowMs - ms).toISOString(), to: new Date(nowMs).toISOString() }
}

/** The minimum length of a shortened range, since a chart of seconds is unreadable. */
const minSpanMs = 15 * 60_000

/**
 * Shortens a named range so that it starts when the version was created: in a chart of a week, the data of a version that is ten minutes
 * old would be one thin line. Returns the later start in Unix milliseconds, at a whole minute; null if the range is not shortened.
 */
export function shortenedStartMs(
  ranges: TimeRanges,
  search: RangeSearch,
  createdAtMs: number,
  nowMs: number,
): number | null {
  if (isCustom(search)) return null
  const startMs = nowMs - namedRange(ranges, search).ms
  const shortenedMs = Math.floor(Math.min(createdAtMs, nowMs - minSpanMs) / 60_000) * 60_000
  return shortenedMs > startMs ? shortenedMs : null
}

/** The range as ISO times for the API, without `to` if it ends now. Invalid times are dropped. */
export function queryTimes(ranges: TimeRanges, search: RangeSearch, nowMs: number): Omit<RangeSearch, 'range'> {
  if (!isCustom(search)) return { from: new Date(nowMs - namedRange(ranges, search).ms).toISOString() }
  const timeOf = (time: string | undefined) => (time && !Number.isNaN(Date.parse(time)) ? time : undefined)
  return { from: timeOf(search.from), to: timeOf(search.to) }
}
