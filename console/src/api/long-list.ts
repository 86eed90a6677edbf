/** Up to here a list is asked for fullList every time. */
const maxFullList = 100
/** What is not on screen of a longer one may be this old. */
const fullRefetchMs = 60_000

type Row = { id: number }
type CachedList<T> = { data: T[] | undefined; isInvalidated: boolean } | undefined

/**
 * A reader of one list. Of a long one it asks only for what is on screen, but once a minute for all of it, as after a change:
 * most of a thousand rows are seen by nobody, and each costs the server and the page something.
 */
export function createListReader<T extends Row>(nowMs: () => number = Date.now) {
  let fullFetchedAtMs = 0
  /**
   * @param cached what was answered before, and whether it is cached to be outdated
   * @param fetchRows for the rows with these ids, or for all
   */
  return async (
    cached: CachedList<T>,
    visibleRows: readonly Row[],
    fetchRows: (ids: number[] | null) => Promise<T[]>,
  ) => {
    const all = cached?.data ?? []
    const isFullFetchDue = cached?.isInvalidated || nowMs() - fullFetchedAtMs >= fullRefetchMs
    const ids = all.length > maxFullList && !isFullFetchDue ? visibleRows.map(({ id }) => id) : []
    const updated = ids.length > 0 ? await fetchRows(ids) : []
    if (ids.length > 0 && updated.length === ids.length) {
      const updatedById = new Map(updated.map((row) => [row.id, row]))
      return all.map((row) => updatedById.get(row.id) ?? row)
    }
    // None on screen, or fewer than there were: one has gone, and others may have.
    const startedAtMs = nowMs()
    const fullList = await fetchRows(null)
    fullFetchedAtMs = startedAtMs
    return fullList
  }
}
