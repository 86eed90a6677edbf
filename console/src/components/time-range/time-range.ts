/** A time range in the address: one of those the page offers, or `from` and `to`, which go first. */
export type RangeSearch = { range?: string | undefined; from?: string | undefined; to?: string | undefined }

type Offered = { id: string; label: string; ms: number }

/** What a page offers, and which of them an address without any means. */
export type TimeRanges = { offered: readonly Offered[]; usual: Offered }

/** The range of the list that the address names, whether or not `from` and `to` go before it. */
export const namedRange = ({ offered, usual }: TimeRanges, { range }: RangeSearch): Offered =>
  offered.find(({ id }) => id === range) ?? usual

export const isCustom = ({ from, to }: RangeSearch): boolean => Boolean(from || to)

/** What picking one of the list puts into the address. */
export const searchOfNamed = ({ usual }: TimeRanges, id: string): RangeSearch => ({
  range: id === usual.id ? undefined : id,
  from: undefined,
  to: undefined,
})

/** A custom range begins as what was shown before. */
export function searchOfCustom(ranges: TimeRanges, search: RangeSearch, nowMs: number): RangeSearch {
  if (isCustom(search)) return search
  const { ms } = namedRange(ranges, search)
  return { ...search, from: new Date(nowMs - ms).toISOString(), to: new Date(nowMs).toISOString() }
}

/** What to ask the API for, as ISO times: without `to` until now. What is no time is left out. */
export function askedTimes(ranges: TimeRanges, search: RangeSearch, nowMs: number): Omit<RangeSearch, 'range'> {
  if (!isCustom(search)) return { from: new Date(nowMs - namedRange(ranges, search).ms).toISOString() }
  const timeOf = (time: string | undefined) => (time && !Number.isNaN(Date.parse(time)) ? time : undefined)
  return { from: timeOf(search.from), to: timeOf(search.to) }
}
