const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Formats a UTC day, `2026-11-22`, as `22 Nov 2026`. */
export function dateText(day: string): string {
  const [year = '', month = '', date = ''] = day.split('-')
  return `${Number(date)} ${months[Number(month) - 1] ?? ''} ${year}`
}

/** Formats an ISO time as an element for readers and programs: `22 Nov 2026, 15:42:10 UTC`. */
export const timeText = (iso: string): string =>
  `<time datetime="${iso.slice(0, 19)}Z">${dateText(iso.slice(0, 10))}, ${iso.slice(11, 19)} UTC</time>`
