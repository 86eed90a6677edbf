import type { LinkProps } from '@tanstack/react-router'
import { emptyValue, formatDateTime } from '../../lib/format.ts'
import { formatUtcDate } from '../../lib/utc-dates.ts'

/** What a chart draws. Times are seconds since 1970, ascending; a null is a gap. */
export type ChartData = {
  times: readonly number[] | Float64Array
  series: readonly ChartSeries[]
  /** Each value is of so many seconds from its time on, and drawn in their middle. Without it: of the instant. */
  bucketSeconds?: number
  /** Its days and months begin in UTC, and are called by their date there. */
  isUtc?: boolean
}

export type ChartSeries = {
  label: string
  /** A limit is a dashed line: what the series of its colour may have at most. */
  kind: 'line' | 'area' | 'bars' | 'points' | 'limit'
  values: readonly (number | null)[]
  /** Number of a chart token, 1 to 6; given out in order without it. */
  color?: number
  /** Distinguishes lines of one colour; solid by default. */
  dash?: Dash
  /** Hidden until the user enables it in the legend. The table always has it. */
  isHiddenAtFirst?: boolean
}

/** Lengths of strokes and gaps, in pixels. */
export const dashes = { dashed: [6, 3], dotted: [2, 2.5], mixed: [8, 3, 2, 3] } as const
export type Dash = keyof typeof dashes

export type ChartScale = {
  /** Writes a value on the axis. */
  format: (value: number) => string
  /** Writes it where there is room: at the crosshair, in the table. As on the axis without it. */
  exact?: (value: number) => string
  /** Marks on the axis are whole numbers, or those that computers count memory in. */
  steps?: 'whole' | 'binary'
  /** The axis ends here at least; a percentage has 100. */
  max?: number
  /** The axis begins near the lowest value instead of at zero. */
  isFromLowest?: boolean
  /** A line across, as the outage line of spec 2.10. */
  threshold?: { value: number; label: string }
  /** Stack the bars of all series. */
  isStacked?: boolean
}

/** An upright mark with a handle on the time axis: a deployment. */
export type ChartMark = {
  timeSeconds: number
  /** What happened, shown on hover and read out. Further lines may follow the first. */
  label: string
  isBad?: boolean
  link?: LinkProps
}

const colors = 6

export const colorToken = (series: Pick<ChartSeries, 'color'>, index: number): string =>
  `chart-${series.color ?? (index % colors) + 1}`

/** True if all values are null. */
export const isWithoutValues = ({ series }: ChartData): boolean =>
  series.every(({ values }) => values.every((value) => value === null))

/** Where values are drawn on the time axis. */
export const drawnTimes = ({ times, bucketSeconds = 0 }: ChartData): number[] =>
  Array.from(times, (time) => time + bucketSeconds / 2)

/** Places of values with a gap on both sides: a line through nothing else would not be seen. */
export const isolatedPoints = (values: readonly (number | null | undefined)[]): number[] =>
  values.flatMap((value, at) => (value != null && values[at - 1] == null && values[at + 1] == null ? [at] : []))

/** Where the axis of values begins and ends; `low` and `high` are null where there are none. */
export function valueRange(
  { max = 0, isFromLowest = false }: Pick<ChartScale, 'max' | 'isFromLowest'>,
  low: number | null,
  high: number | null,
): [number, number] {
  const top = Math.max(max, (high ?? 1) * 1.05) || 1
  if (!isFromLowest || low === null || high === null) return [Math.min(0, low ?? 0), top]
  const room = (high - low) * 0.05 || 1
  return [Math.max(0, low - room), high + room]
}

/** Each series on top of the ones before it, for stacked bars. A gap counts as nothing, and of nothing no bar is drawn. */
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

/** A screen reader reads at most this many series one by one. */
const maxSummarized = 8

/** One sentence that describes the chart: `CPU usage: API 12% now, 5% to 40%.` */
export function summaryOf(title: string, { series }: ChartData, format: (value: number) => string): string {
  const parts = series.slice(0, maxSummarized).map(({ label, values }) => {
    const known = values.filter((value) => value !== null)
    const last = known.at(-1)
    if (last === undefined) return `${label}: no data`
    const low = known.reduce((a, b) => Math.min(a, b))
    const high = known.reduce((a, b) => Math.max(a, b))
    return `${label}: ${format(last)} at the end, between ${format(low)} and ${format(high)}`
  })
  if (series.length > maxSummarized) parts.push(`And ${series.length - maxSummarized} more, in the table`)
  return `${title}. ${parts.join('. ')}.`
}

/** Everything as text for a spreadsheet: a line for each time, oldest first, numbers as they are, gaps empty. */
export function sheetOf({ times, series }: ChartData): string {
  const head = ['Time', ...series.map(({ label }) => label)]
  const lines = Array.from(times, (time, at) => [
    new Date(time * 1000).toISOString(),
    ...series.map(({ values }) => values[at] ?? ''),
  ])
  return [head, ...lines].map((cells) => cells.join('\t')).join('\n')
}

export type MarkGroup = { x: number; marks: ChartMark[] }

/** Merges marks that would overlap, at the position of the first. Sorted by time. */
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

/** A time of the chart, in full. */
export const formatPointTime = ({ isUtc }: ChartData, seconds: number): string =>
  isUtc ? `${formatUtcDate(seconds * 1000)} UTC` : formatDateTime(seconds * 1000)

export const exactOf = ({ exact, format }: ChartScale): ((value: number) => string) => exact ?? format

/** A value in full, or the placeholder for a gap. */
export const formatValue = (scale: ChartScale, value: number | null | undefined): string =>
  value === null || value === undefined ? emptyValue : exactOf(scale)(value)
