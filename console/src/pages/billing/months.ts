/** Calendar months of receipts, `yyyy-MM`, UTC. */

const titles = new Intl.DateTimeFormat('en-US', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** The current month and the previous ones, newest first. */
export function recentMonths(nowMs: number, count: number): string[] {
  const now = new Date(nowMs)
  return Array.from({ length: count }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString().slice(0, 7),
  )
}

export const isMonth = (text: string): boolean => /^20\d{2}-(0[1-9]|1[0-2])$/.test(text)

/** `September 2026` */
export const monthTitle = (month: string): string => titles.format(new Date(`${month}-01T00:00:00Z`))

/** `01.11`, from the start of a UTC day. */
export const dayLabel = (atMs: number): string =>
  new Date(atMs).toISOString().slice(5, 10).split('-').toReversed().join('.')
