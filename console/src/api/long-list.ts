/** Up to here a list is asked for whole every time. */
const shortList = 100
/** What is not on screen of a longer one may be this old. */
const wholeEveryMs = 60_000

type Row = { id: number }
type Known<T> = { data: T[] | undefined; isInvalidated: boolean } | undefined

/**
 * A reader of one list. Of a long one it asks only for what is on screen, but once a minute for all of it, as after a change:
 * most of a thousand rows are seen by nobody, and each costs the server and the page something.
 */
export function listReader<T extends Row>(nowMs: () => number = Date.now) {
  let wholeAtMs = 0
  /**
   * @param known what was answered before, and whether it is known to be outdated
   * @param ask for the rows with these ids, or for all
   */
  return async (known: Known<T>, onScreen: readonly Row[], ask: (ids: number[] | null) => Promise<T[]>) => {
    const all = known?.data ?? []
    const isDue = known?.isInvalidated || nowMs() - wholeAtMs >= wholeEveryMs
    const ids = all.length > shortList && !isDue ? onScreen.map(({ id }) => id) : []
    const some = ids.length > 0 ? await ask(ids) : []
    if (ids.length > 0 && some.length === ids.length) {
      const newer = new Map(some.map((row) => [row.id, row]))
      return all.map((row) => newer.get(row.id) ?? row)
    }
    // None on screen, or fewer than there were: one has gone, and others may have.
    const askedAtMs = nowMs()
    const whole = await ask(null)
    wholeAtMs = askedAtMs
    return whole
  }
}
