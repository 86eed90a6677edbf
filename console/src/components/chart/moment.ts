import { formatDateTime, nothing } from '../../lib/format.ts'
import { formatUtcDate } from '../../lib/utc-dates.ts'
import type { ChartData, ChartScale } from './chart-data.ts'

/** A time of the chart, in full. */
export const formatMoment = ({ isUtc }: ChartData, seconds: number): string =>
  isUtc ? `${formatUtcDate(seconds * 1000)} UTC` : formatDateTime(seconds * 1000)

export const exactOf = ({ exact, format }: ChartScale): ((value: number) => string) => exact ?? format

/** A value in full, or what stands for a gap. */
export const formatValue = (scale: ChartScale, value: number | null | undefined): string =>
  value === null || value === undefined ? nothing : exactOf(scale)(value)
