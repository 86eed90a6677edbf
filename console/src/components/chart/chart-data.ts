/** What a chart draws. Times are seconds since 1970, ascending; a null is a gap. */
export type ChartData = {
  times: readonly number[] | Float64Array
  series: readonly ChartSeries[]
}

export type ChartSeries = {
  label: string
  kind: 'line' | 'area' | 'bars' | 'points'
  values: readonly (number | null)[]
  /** Number of a chart token, 1 to 6; given out in order without it. */
  color?: number
}

export type ChartScale = {
  /** Writes a value: on the axis, in the readout, in the table. */
  format: (value: number) => string
  /** The axis ends here at least; a percentage has 100. */
  max?: number
  /** A line across, as the outage line of spec 2.10. */
  threshold?: { value: number; label: string }
  /** Bars of all series stand on each other. */
  isStacked?: boolean
}

/** Upright marks: deployments. */
export type ChartMark = { timeSeconds: number; label: string }

const colors = 6

export const colorToken = (series: ChartSeries, index: number): string =>
  `chart-${series.color ?? (index % colors) + 1}`

/** Each series on top of the ones before it, for stacked bars. A gap counts as nothing. */
export function stacked(series: readonly ChartSeries[]): (number | null)[][] {
  const sums: number[] = []
  return series.map(({ values }) =>
    values.map((value, index) => {
      sums[index] = (sums[index] ?? 0) + (value ?? 0)
      return sums[index]
    }),
  )
}

/** One sentence that says what the picture shows: `CPU usage: API 12% now, 5% to 40%.` */
export function summaryOf(title: string, { series }: ChartData, format: (value: number) => string): string {
  const parts = series.map(({ label, values }) => {
    const known = values.filter((value) => value !== null)
    const last = known.at(-1)
    if (last === undefined) return `${label}: no data`
    const low = known.reduce((a, b) => Math.min(a, b))
    const high = known.reduce((a, b) => Math.max(a, b))
    return `${label}: ${format(last)} at the end, between ${format(low)} and ${format(high)}`
  })
  return `${title}. ${parts.join('. ')}.`
}
