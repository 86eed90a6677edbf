/** Formats dates of daily and monthly data, in UTC. This module is separate from `format.ts`, because few pages need it. */

const dates = new Intl.DateTimeFormat('de-DE', { dateStyle: 'medium', timeZone: 'UTC' })
const months = new Intl.DateTimeFormat('en-US', { month: 'short', year: 'numeric', timeZone: 'UTC' })

/** `02.09.2026` */
export const formatUtcDate = (instant: string | number): string => dates.format(new Date(instant))
/** `02.09` */
export const formatUtcDayMonth = (instant: string | number): string => formatUtcDate(instant).slice(0, 5)
/** `Sep 2026` */
export const formatUtcMonth = (instant: string | number): string => months.format(new Date(instant))
