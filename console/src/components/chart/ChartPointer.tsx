import { cx } from '../../ui/classes.ts'
import { Swatch } from './ChartLegend.tsx'
import { formatPointTime, formatValue, type ChartData, type ChartScale } from './chart-data.ts'

/** The position of the crosshair: the index of the data point and the distance from the left edge. */
export type ChartCursor = {
  index: number
  leftPx: number
  widthPx: number
  /** Label of the nearest line, in charts with many lines. */
  nearest: string | null
}

/** Show at most this many series, the largest ones. */
const maxRows = 8

type Props = { data: ChartData; scale: ChartScale; cursor: ChartCursor }

/** The values at the crosshair, next to it. `accessibleValueAt` is the equivalent for screen readers. */
export function ChartPointer({ data, scale, cursor: { index, leftPx, widthPx, nearest } }: Props) {
  const time = data.times[index]
  if (time === undefined) return null
  const all = data.series.map((series, at) => ({ series, at, value: series.values[index] ?? null }))
  const rows = all.length > maxRows ? largest(all, nearest) : all
  const isLeft = leftPx > widthPx / 2
  return (
    <div
      aria-hidden
      className="pointer-events-none absolute top-1 z-10 rounded-md border border-line bg-canvas/95 px-2.5 py-1.5 text-xs shadow-overlay"
      style={isLeft ? { right: widthPx - leftPx + 10 } : { left: leftPx + 10 }}
    >
      <p className="tabular mb-0.5 whitespace-nowrap text-ink-3">{formatPointTime(data, time)}</p>
      {rows.map(({ series, at, value }) => (
        <p
          key={at}
          className={cx(
            'flex items-center gap-1.5 whitespace-nowrap',
            series.label === nearest ? 'text-ink' : 'text-ink-2',
          )}
        >
          <Swatch series={series} at={at} />
          {series.label}
          <span className="tabular ml-auto pl-3 font-medium text-ink">{formatValue(scale, value)}</span>
        </p>
      ))}
      {rows.length < all.length && <p className="text-ink-3">and {all.length - rows.length} more</p>}
    </div>
  )
}

type Row = { series: { label: string }; value: number | null }

function largest<T extends Row>(rows: readonly T[], nearest: string | null = null): T[] {
  const rank = ({ series, value }: Row) => (series.label === nearest ? Infinity : (value ?? -Infinity))
  return rows.toSorted((a, b) => (rank(a) === rank(b) ? 0 : rank(b) - rank(a))).slice(0, maxRows)
}

/** The same values as a sentence. */
export function accessibleValueAt(data: ChartData, scale: ChartScale, index: number): string {
  const time = data.times[index]
  if (time === undefined) return ''
  const rows = largest(data.series.map((series) => ({ series, value: series.values[index] ?? null })))
  const all = data.series.length > maxRows ? rows.map(({ series }) => series) : data.series
  const values = all.map(({ label, values: of }) => `${label} ${formatValue(scale, of[index])}`)
  if (all.length < data.series.length) values.push(`and ${data.series.length - all.length} more`)
  return `${formatPointTime(data, time)}: ${values.join(', ')}`
}
