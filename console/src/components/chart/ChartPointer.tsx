import type { ChartData, ChartScale } from './chart-data.ts'
import { Swatch } from './ChartLegend.tsx'
import { formatMoment, formatValue } from './moment.ts'

/** Where the crosshair is: at which point of the data, and how far from the left of the picture. */
export type ChartCursor = { index: number; leftPx: number; widthPx: number }

/** Of a chart of many series the largest. */
const mostRows = 8

type Props = { data: ChartData; scale: ChartScale; cursor: ChartCursor }

/** The values at the crosshair, beside it. For those who see it; `spokenAt` says the same. */
export function ChartPointer({ data, scale, cursor: { index, leftPx, widthPx } }: Props) {
  const time = data.times[index]
  if (time === undefined) return null
  const all = data.series.map((series, at) => ({ series, at, value: series.values[index] ?? null }))
  const rows = all.length > mostRows ? largest(all) : all
  const isLeft = leftPx > widthPx / 2
  return (
    <div
      aria-hidden
      className="pointer-events-none absolute top-1 z-10 rounded-md border border-line bg-canvas/95 px-2.5 py-1.5 text-xs shadow-overlay"
      style={isLeft ? { right: widthPx - leftPx + 10 } : { left: leftPx + 10 }}
    >
      <p className="tabular mb-0.5 whitespace-nowrap text-ink-3">{formatMoment(data, time)}</p>
      {rows.map(({ series, at, value }) => (
        <p key={at} className="flex items-center gap-1.5 whitespace-nowrap text-ink-2">
          <Swatch series={series} at={at} />
          {series.label}
          <span className="tabular ml-auto pl-3 font-medium text-ink">{formatValue(scale, value)}</span>
        </p>
      ))}
      {rows.length < all.length && <p className="text-ink-3">and {all.length - rows.length} more</p>}
    </div>
  )
}

const largest = <T extends { value: number | null }>(rows: readonly T[]): T[] =>
  rows.toSorted((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity)).slice(0, mostRows)

/** The same as a sentence. */
export function spokenAt(data: ChartData, scale: ChartScale, index: number): string {
  const time = data.times[index]
  if (time === undefined) return ''
  const values = data.series.map(({ label, values: of }) => `${label} ${formatValue(scale, of[index])}`)
  return `${formatMoment(data, time)}: ${values.join(', ')}`
}
