import { memo } from 'react'
import { cx } from '../../ui/classes.ts'
import { numberClass, tableClass, tdClass, thClass } from '../../ui/Table.tsx'
import type { ChartData, ChartScale } from './chart-data.ts'
import { formatMoment, formatValue } from './moment.ts'

/** Enough to read, and what a browser lays out at once; the whole stretch is in the picture, and in what is copied. */
const mostRows = 500
const mostCells = 4_000

type Props = { title: string; data: ChartData; scale: ChartScale; heightPx: number }

/** The same values as numbers, newest first. */
export const ChartTable = memo(function ChartTable({ title, data, scale, heightPx }: Props) {
  const count = Math.min(mostRows, Math.ceil(mostCells / (data.series.length + 1)))
  const newest = Array.from(data.times, (time, index) => ({ time, index }))
    .slice(-count)
    .toReversed()
  return (
    <div
      className="overflow-auto"
      style={{ height: heightPx }}
      tabIndex={0}
      role="region"
      aria-label={`${title}, as a table`}
    >
      <table className={tableClass}>
        <thead>
          <tr>
            <th scope="col" className={cx(thClass, 'sticky top-0 bg-canvas px-2!')}>
              Time
            </th>
            {data.series.map(({ label }, at) => (
              <th key={at} scope="col" className={cx(thClass, 'sticky top-0 bg-canvas px-2! text-right')}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {newest.map(({ time, index }) => (
            <tr key={time}>
              <td className={cx(tdClass, 'tabular h-8! px-2! whitespace-nowrap')}>{formatMoment(data, time)}</td>
              {data.series.map(({ values }, at) => (
                <td key={at} className={cx(tdClass, numberClass, 'h-8! px-2! whitespace-nowrap')}>
                  {formatValue(scale, values[index])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {data.times.length > count && (
        <p className="px-3 py-2 text-xs text-ink-3">
          The newest {count} of {data.times.length}. What is copied has all of them.
        </p>
      )}
    </div>
  )
})
