// A month is a string `yyyy-MM`, in UTC.

const titleFormat = new Intl.DateTimeFormat('en-US', { month: 'long', year: 'numeric', timeZone: 'UTC' })

/** The newest `count` months, including the current one, newest first. */
export function recentMonths(nowMs: number, count: number): string[] {
  const now = new Date(nowMs)
  return Array.from({ length: count }, (_, monthsAgo) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - monthsAgo)).toISOString().slice(0, 7),
  )
}

/** Whether the text is a month, such as `2026-09`. */
export const isMonth = (text: string): boolean => /^20\d{2}-(0[1-9]|1[0-2])$/.test(text)

/** The title of a month, such as `September 2026`. */
export const monthTitle = (month: string): string => titleFormat.format(new Date(`${month}-01T00:00:00Z`))

/** The UTC day and month of a time, such as `01.11`. */
export const dayLabel = (timeMs: number): string =>
  new Date(timeMs).toISOString().slice(5, 10).split('-').toReversed().join('.')
