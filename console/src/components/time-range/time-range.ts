/** A time range in the address: one of those the page offers, or `from` and `to`, which go first. */
export type RangeSearch = { range?: string | undefined; from?: string | undefined; to?: string | undefined }

type RangeOption = { id: string; label: string; ms: number }

/** What a page offers, and which of them an address without any means. */
export type TimeRanges = { options: readonly RangeOption[]; defaultRange: RangeOption }

/** The range of the list that the address names, whether or not `from` and `to` go before it. */
export const namedRange = ({ options, defaultRange }: TimeRanges, { range }: RangeSearch): RangeOption =>
  options.find(({ id }) => id === range) ?? defaultRange

export const isCustom = ({ from, to }: RangeSearch): boolean => Boolean(from || to)

/** What picking one of the list puts into the address. */
export const searchOfNamed = ({ defaultRange }: TimeRanges, id: string): RangeSearch => ({
  range: id === defaultRange.id ? undefined : id,
  from: undefined,
  to: undefined,
})

/** A custom range begins as what was shown before. */
export function searchOfCustom(ranges: TimeRanges, search: RangeSearch, nowMs: number): RangeSearch {
  if (isCustom(search)) return search
  const { ms } = namedRange(ranges, search)
  return { ...search, from: new Date(nowMs - ms).toISOString(), to: new Date(nowMs).toISOString() }
}

/** The range as ISO times for the API; `to` is omitted for now. Invalid times are dropped. */
export function queryTimes(ranges: TimeRanges, search: RangeSearch, nowMs: number): Omit<RangeSearch, 'range'> {
  if (!isCustom(search)) return { from: new Date(nowMs - namedRange(ranges, search).ms).toISOString() }
  const timeOf = (time: string | undefined) => (time && !Number.isNaN(Date.parse(time)) ? time : undefined)
  return { from: timeOf(search.from), to: timeOf(search.to) }
}
