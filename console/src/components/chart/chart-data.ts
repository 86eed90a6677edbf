import type { LinkProps } from '@tanstack/react-router'
import { emptyValue, formatDateTime } from '../../lib/format.ts'
import { formatUtcDate } from '../../lib/utc-dates.ts'

/** The data of a chart. Times are Unix seconds, ascending; null is a gap. */
export type ChartData = {
  times: readonly number[] | Float64Array
  series: readonly ChartSeries[]
  /**
   * Each value is that of a bucket, which starts at its time and has this many seconds; it is drawn in the middle of the bucket. By default,
   * values are points in time.
   */
  bucketSeconds?: number
  /** True if buckets are UTC days or months, so that times are formatted in UTC. */
  isUtc?: boolean
}

export type ChartSeries = {
  label: string
  /** A limit is a dashed line: the maximum of the series with the same colour. */
  kind: 'line' | 'area' | 'bars' | 'points' | 'limit'
  values: readonly (number | null)[]
  /** Index of a chart colour, 1 to 6; assigned in order by default. */
  color?: number
  /** Distinguishes lines of one colour; solid by default. */
  dash?: Dash
  /** Hidden until the user enables it in the legend. The table always has it. */
  isInitiallyHidden?: boolean
}

/** Lengths of dashes and gaps in pixels. */
export const dashes = { dashed: [6, 3], dotted: [2, 2.5], mixed: [8, 3, 2, 3] } as const
export type Dash = keyof typeof dashes

export type ChartScale = {
  /** Formats a value on the axis. */
  format: (value: number) => string
  /** Formats a value with full precision, at the crosshair and in the table. Defaults to `format`. */
  exact?: (value: number) => string
  /** Where the ticks may be: at whole numbers, or, for memory, at multiples of powers of two. By default, anywhere. */
  steps?: 'whole' | 'binary'
  /** The axis reaches at least this value, such as 100 for a percentage. */
  max?: number
  /** Start the axis near the lowest value instead of at zero. */
  isFromLowest?: boolean
  /** A horizontal line, such as the outage line of spec 2.10. */
  threshold?: { value: number; label: string }
  /** Stack the bars of all series. */
  isStacked?: boolean
}

/** A vertical mark with a handle on the time axis: a deployment. */
export type ChartMark = {
  timeSeconds: number
  /** Tooltip and accessible name. May have several lines. */
  label: string
  isBad?: boolean
  link?: LinkProps
}

/** The number of chart colours in `ui/styles.css`. */
const colorCount = 6

/** The design token of the colour of a series. `index` is the position of the series in the chart. */
export const colorToken = (series: Pick<ChartSeries, 'color'>, index: number): string =>
  `chart-${series.color ?? (index % colorCount) + 1}`

/** True if all values are null. */
export const isWithoutValues = ({ series }: ChartData): boolean =>
  series.every(({ values }) => values.every((value) => value === null))

/** Positions of the values on the time axis, in Unix seconds. */
export const drawnTimes = ({ times, bucketSeconds = 0 }: ChartData): number[] =>
  Array.from(times, (time) => time + bucketSeconds / 2)

/** Indexes of values between two gaps, which a line would not show without a point. */
export const isolatedPoints = (values: readonly (number | null | undefined)[]): number[] =>
  values.flatMap((value, i) => (value != null && values[i - 1] == null && values[i + 1] == null ? [i] : []))

/** Range of the value axis. `low` and `high` are the minimum and maximum of the data, and null without data. */
export function valueRange(
  { max = 0, isFromLowest = false }: Pick<ChartScale, 'max' | 'isFromLowest'>,
  low: number | null,
  high: number | null,
): [number, number] {
  const top = Math.max(max, (high ?? 1) * 1.05) || 1
  if (!isFromLowest || low === null || high === null) return [Math.min(0, low ?? 0), top]
  const padding = (high - low) * 0.05 || 1
  return [Math.max(0, low - padding), high + padding]
}

/** The upper ends of stacked bars: each value plus those of the series before it. Null draws no bar, for a gap or a zero. */
export function stacked(series: readonly ChartSeries[]): (number | null)[][] {
  const sums: number[] = []
  return series.map(({ values }) =>
    values.map((value, index) => {
      if (!value) return null
      sums[index] = (sums[index] ?? 0) + value
      return sums[index]
    }),
  )
}

/** Maximum number of series in the summary, which screen readers read in full. */
const maxSummarized = 8

/** Describes the chart in text: `CPU usage. API: 40% at the end, between 5% and 40%.` */
export function summaryOf(title: string, { series }: ChartData, format: (value: number) => string): string {
  const parts = series.slice(0, maxSummarized).map(({ label, values }) => {
    const numbers = values.filter((value) => value !== null)
    const last = numbers.at(-1)
    if (last === undefined) return `${label}: no data`
    const low = numbers.reduce((a, b) => Math.min(a, b))
    const high = numbers.reduce((a, b) => Math.max(a, b))
    return `${label}: ${format(last)} at the end, between ${format(low)} and ${format(high)}`
  })
  if (series.length > maxSummarized) parts.push(`And ${series.length - maxSummarized} more, in the table`)
  return `${title}. ${parts.join('. ')}.`
}

/** Tab-separated text for a spreadsheet: one line per time, oldest first, exact numbers; gaps are empty cells. */
export function tsvOf({ times, series }: ChartData): string {
  const head = ['Time', ...series.map(({ label }) => label)]
  const lines = Array.from(times, (time, index) => [
    new Date(time * 1000).toISOString(),
    ...series.map(({ values }) => values[index] ?? ''),
  ])
  return [head, ...lines].map((cells) => cells.join('\t')).join('\n')
}

/** Marks that share one handle, sorted by time. `x` is the position of the handle in pixels. */
export type MarkGroup = { x: number; marks: ChartMark[] }

/** Merges marks that would overlap into groups, each at the position of its first mark. The groups are sorted by time. */
export function groupMarks(marks: readonly ChartMark[], xOf: (seconds: number) => number, minDistancePx: number) {
  const groups: MarkGroup[] = []
  for (const mark of marks.toSorted((a, b) => a.timeSeconds - b.timeSeconds)) {
    const x = xOf(mark.timeSeconds)
    const last = groups.at(-1)
    if (last && x - last.x < minDistancePx) last.marks.push(mark)
    else groups.push({ x, marks: [mark] })
  }
  return groups
}

/** Formats a time of the chart, in Unix seconds: date and time of day, or the UTC date if buckets are UTC days or months. */
export const formatPointTime = ({ isUtc }: ChartData, seconds: number): string =>
  isUtc ? `${formatUtcDate(seconds * 1000)} UTC` : formatDateTime(seconds * 1000)

/** The function that formats values with full precision. */
export const exactOf = ({ exact, format }: ChartScale): ((value: number) => string) => exact ?? format

/** Formats a value with full precision. For a gap, returns the placeholder of missing values. */
export const formatValue = (scale: ChartScale, value: number | null | undefined): string =>
  value === null || value === undefined ? emptyValue : exactOf(scale)(value)
