/** The number of rows up to which every poll fetches the full list. */
const maxFullList = 100
/** Maximum age of rows of a longer list that are off screen. */
const fullRefetchMs = 60_000

type Row = { id: number }
type CachedList<T> = { data: T[] | undefined; isInvalidated: boolean } | undefined

/**
 * Creates a function that reads one list. Of a long list, the function fetches only the rows on screen, and all rows once a minute or
 * after a change, because most rows are off screen, and each fetched row takes time on the server and in the page.
 */
export function createListReader<T extends Row>(nowMs: () => number = Date.now) {
  let fullFetchedAtMs = 0
  /**
   * @param cached the current cache entry
   * @param fetchRows fetches the rows with these ids, or all for null
   */
  return async (
    cached: CachedList<T>,
    visibleRows: readonly Row[],
    fetchRows: (ids: number[] | null) => Promise<T[]>,
  ) => {
    const cachedRows = cached?.data ?? []
    const isFullFetchDue = cached?.isInvalidated || nowMs() - fullFetchedAtMs >= fullRefetchMs
    const ids = cachedRows.length > maxFullList && !isFullFetchDue ? visibleRows.map(({ id }) => id) : []
    const updated = ids.length > 0 ? await fetchRows(ids) : []
    if (ids.length > 0 && updated.length === ids.length) {
      const updatedById = new Map(updated.map((row) => [row.id, row]))
      return cachedRows.map((row) => updatedById.get(row.id) ?? row)
    }
    // No row is on screen, or a visible row was deleted and others may be, too.
    const startedAtMs = nowMs()
    const fullList = await fetchRows(null)
    fullFetchedAtMs = startedAtMs
    return fullList
  }
}
