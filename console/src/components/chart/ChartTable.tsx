import { memo } from 'react'
import { cx } from '../../ui/classes.ts'
import { denseTdClass, denseThClass, numberClass, tableClass } from '../../ui/control-classes.ts'
import { formatPointTime, formatValue, type ChartData, type ChartScale } from './chart-data.ts'

/** Limits of the table, so that the browser lays it out fast. The chart and the copied text have all rows. */
const maxRows = 500
const maxCells = 4_000

type Props = { title: string; data: ChartData; scale: ChartScale; heightPx: number }

/** The values of a chart as a table, newest first. */
export const ChartTable = memo(function ChartTable({ title, data, scale, heightPx }: Props) {
  const count = Math.min(maxRows, Math.ceil(maxCells / (data.series.length + 1)))
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
            <th scope="col" className={cx(denseThClass, 'sticky top-0 bg-canvas')}>
              Time
            </th>
            {data.series.map(({ label }, seriesIndex) => (
              <th key={seriesIndex} scope="col" className={cx(denseThClass, 'sticky top-0 bg-canvas text-right')}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {newest.map(({ time, index }) => (
            <tr key={time}>
              <td className={cx(denseTdClass, 'tabular whitespace-nowrap')}>{formatPointTime(data, time)}</td>
              {data.series.map(({ values }, seriesIndex) => (
                <td key={seriesIndex} className={cx(denseTdClass, numberClass, 'whitespace-nowrap')}>
                  {formatValue(scale, values[index])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {data.times.length > count && (
        <p className="px-3 py-2 text-xs text-ink-3">
          The newest {count} of {data.times.length}. Copying includes all of them.
        </p>
      )}
    </div>
  )
})
