const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Formats a UTC day, `2026-11-22`, as `22 Nov 2026`. */
export function dateText(day: string): string {
  const [year = '', month = '', date = ''] = day.split('-')
  return `${Number(date)} ${months[Number(month) - 1] ?? ''} ${year}`
}

/**
 * Formats an ISO time as a `time` element with the text `22 Nov 2026, 15:42 UTC`. If `today`, an ISO time, is given, adds seconds, and
 * omits the date if it is that of `today`.
 */
export function timeText(iso: string, today = ''): string {
  const day = iso.slice(0, 10)
  const date = day === today.slice(0, 10) ? '' : `${dateText(day)}, `
  return `<time datetime="${iso.slice(0, 19)}Z">${date}${iso.slice(11, today ? 19 : 16)} UTC</time>`
}
