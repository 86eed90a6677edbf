/** Formats numbers, sizes, durations and dates (spec 9), in one locale and the user's time zone. */

const locale = 'en-US'
const integers = new Intl.NumberFormat(locale, { maximumFractionDigits: 0 })
const compacts = new Intl.NumberFormat(locale, { notation: 'compact', maximumSignificantDigits: 3 })
const decimals = new Intl.NumberFormat(locale, { maximumFractionDigits: 3 })
const percents = new Intl.NumberFormat(locale, { style: 'percent', minimumFractionDigits: 2, maximumFractionDigits: 2 })
const amounts = new Intl.NumberFormat(locale, { maximumFractionDigits: 8 })
const usd = new Intl.NumberFormat(locale, { style: 'currency', currency: 'USD', maximumFractionDigits: 8 })
const hourlyUsd = new Intl.NumberFormat(locale, { style: 'currency', currency: 'USD', maximumFractionDigits: 4 })
const millions = new Intl.NumberFormat(locale, { minimumFractionDigits: 4, maximumFractionDigits: 4 })
const sizes = new Intl.NumberFormat(locale, { maximumFractionDigits: 1 })

/** Placeholder for a missing value. */
export const emptyValue = '–'

/** `23,881,204` */
export const formatInteger = (count: number): string => integers.format(count)
/** A number with a noun in the singular or plural: `1 version`, `1,204 versions`. `format` writes the number. */
export const countOf = (count: number, noun: string, format = formatInteger): string =>
  `${format(count)} ${noun}${count === 1 ? '' : 's'}`
/** `1.28M` */
export const formatCount = (count: number): string => compacts.format(count)
/** Up to three decimals: `1.204` */
export const formatDecimal = (value: number): string => decimals.format(value)
/** A ratio between 0 and 1 as a percentage: `68.21%` */
export const formatPercent = (ratio: number): string => percents.format(ratio)
/** Up to eight fraction digits: `0.00000001` */
export const formatAmount = (amount: number): string => amounts.format(amount)
/** `$76.80`, with up to eight fraction digits. */
export const formatUsd = (amountUsd: number): string => usd.format(amountUsd)
/** Cost per hour from a decimal string, to a hundredth of a cent: `$0.0323` */
export const formatHourlyUsd = (amountUsd: string): string => hourlyUsd.format(Number(amountUsd))
/** To the cent, from a decimal string or a number: `$76.80`. Less than half a cent is `$0.00`, never `-$0.00`. */
export const formatCents = (amountUsd: string | number): string =>
  formatUsd(Math.round(Number(amountUsd) * 100) / 100 || 0)
/** RPC requests in millions with four decimals (spec 2.11): `1.2346M` */
export const formatMillions = (requests: number): string => `${millions.format(requests / 1_000_000)}M`

const sizeUnits = ['B', 'KB', 'MB', 'GB', 'TB', 'PB']

/** `9.1 GB`, in units of 1024. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), sizeUnits.length - 1)
  return `${sizes.format(bytes / 1024 ** power)} ${sizeUnits[power]}`
}

/** `1.5 GB`, from a number of megabytes of 1024² bytes. */
export const formatMegabytes = (mb: number): string => formatBytes(mb * 1024 * 1024)

/** `850 ms` below one second, otherwise whole seconds: `24 s`. */
export function formatDuration(elapsedMs: number): string {
  return elapsedMs < 1000 ? `${integers.format(elapsedMs)} ms` : `${integers.format(elapsedMs / 1000)} s`
}

// German dates have the order that the spec gives, and only digits and dots.
const dates = new Intl.DateTimeFormat('de-DE', { day: '2-digit', month: '2-digit', year: 'numeric' })
const dayMonths = new Intl.DateTimeFormat('de-DE', { day: '2-digit', month: '2-digit' })
const times = new Intl.DateTimeFormat('de-DE', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const hourMinutes = new Intl.DateTimeFormat('de-DE', { hour: '2-digit', minute: '2-digit' })

type Instant = Date | string | number
const toDate = (instant: Instant): Date => new Date(instant)

/** `02.09.2026` */
export const formatDate = (instant: Instant): string => dates.format(toDate(instant))
/** `02.09.2026 14:03:59` */
export const formatDateTime = (instant: Instant): string =>
  `${dates.format(toDate(instant))} ${times.format(toDate(instant))}`
/** `14:03:59` */
export const formatTime = (instant: Instant): string => times.format(toDate(instant))

const dayMs = 86_400_000

/** A label on a time axis: `14:03` when the axis spans at most a day, else `02.09 14:03`. */
export function formatChartTime(instant: Instant, spanMs: number): string {
  return spanMs <= dayMs ? hourMinutes.format(toDate(instant)) : formatDayMonthTime(instant)
}

/** `02.09 14:03` */
export const formatDayMonthTime = (instant: Instant): string =>
  `${formatDayMonth(instant)} ${hourMinutes.format(toDate(instant))}`

/** `02.09` */
export function formatDayMonth(instant: Instant): string {
  return dayMonths.format(toDate(instant)).replace(/\.$/, '')
}

const relativeUnits: [limitMs: number, unitMs: number, textOf: (count: number) => string][] = [
  [60_000, 1000, (n) => `${n} s`],
  [3_600_000, 60_000, (n) => `${n} min`],
  [dayMs, 3_600_000, (n) => `${n} h`],
  [7 * dayMs, dayMs, (n) => countOf(n, 'day')],
]

/** `now`, `18 min ago`, `in 3 days`; the date if it is a week away or more. */
export function formatRelative(instant: Instant, nowMs: number): string {
  const distanceMs = nowMs - toDate(instant).getTime()
  const awayMs = Math.abs(distanceMs)
  if (awayMs < 1000) return 'now'
  const unit = relativeUnits.find(([limitMs]) => awayMs < limitMs)
  if (!unit) return formatDate(instant)
  const [, unitMs, textOf] = unit
  const distance = textOf(Math.floor(awayMs / unitMs))
  return distanceMs > 0 ? `${distance} ago` : `in ${distance}`
}
