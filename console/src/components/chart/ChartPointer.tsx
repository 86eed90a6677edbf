import { cx } from '../../ui/classes.ts'
import { Swatch } from './ChartLegend.tsx'
import { formatPointTime, formatValue, type ChartData, type ChartScale } from './chart-data.ts'

/** The position of the crosshair: the index of the data point, the distance from the left edge of the plot, and the width of the plot. */
export type ChartCursor = {
  index: number
  leftPx: number
  plotWidthPx: number
  /** Label of the nearest line, in charts with many lines. */
  nearest: string | null
}

/** Maximum number of series whose values are shown: those with the largest values. */
const maxRows = 8

type Props = { data: ChartData; scale: ChartScale; cursor: ChartCursor }

/** The values at the crosshair, next to it. `accessibleValueAt` is the equivalent for screen readers. */
export function ChartPointer({ data, scale, cursor: { index, leftPx, plotWidthPx, nearest } }: Props) {
  const time = data.times[index]
  if (time === undefined) return null
  const allRows = data.series.map((series, seriesIndex) => ({
    series,
    seriesIndex,
    value: series.values[index] ?? null,
  }))
  const rows = allRows.length > maxRows ? largest(allRows, nearest) : allRows
  const isLeftOfCrosshair = leftPx > plotWidthPx / 2
  return (
    <div
      aria-hidden
      className="pointer-events-none absolute top-1 z-10 rounded-md border border-line bg-canvas/95 px-2.5 py-1.5 text-xs shadow-overlay"
      style={isLeftOfCrosshair ? { right: plotWidthPx - leftPx + 10 } : { left: leftPx + 10 }}
    >
      <p className="tabular mb-0.5 whitespace-nowrap text-ink-3">{formatPointTime(data, time)}</p>
      {rows.map(({ series, seriesIndex, value }) => (
        <p
          key={seriesIndex}
          className={cx(
            'flex items-center gap-1.5 whitespace-nowrap',
            series.label === nearest ? 'text-ink' : 'text-ink-2',
          )}
        >
          <Swatch series={series} index={seriesIndex} />
          {series.label}
          <span className="tabular ml-auto pl-3 font-medium text-ink">{formatValue(scale, value)}</span>
        </p>
      ))}
      {rows.length < allRows.length && <p className="text-ink-3">and {allRows.length - rows.length} more</p>}
    </div>
  )
}

type Row = { series: { label: string }; value: number | null }

function largest<T extends Row>(rows: readonly T[], nearest: string | null = null): T[] {
  const rank = ({ series, value }: Row) => (series.label === nearest ? Infinity : (value ?? -Infinity))
  return rows.toSorted((a, b) => (rank(a) === rank(b) ? 0 : rank(b) - rank(a))).slice(0, maxRows)
}

/** Lists the values at an index in one sentence, for screen readers. */
export function accessibleValueAt(data: ChartData, scale: ChartScale, index: number): string {
  const time = data.times[index]
  if (time === undefined) return ''
  const rows = largest(data.series.map((series) => ({ series, value: series.values[index] ?? null })))
  const listed = data.series.length > maxRows ? rows.map(({ series }) => series) : data.series
  const parts = listed.map(({ label, values }) => `${label} ${formatValue(scale, values[index])}`)
  if (listed.length < data.series.length) parts.push(`and ${data.series.length - listed.length} more`)
  return `${formatPointTime(data, time)}: ${parts.join(', ')}`
}
