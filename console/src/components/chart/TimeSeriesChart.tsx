import { ChartLine, Table2 } from 'lucide-react'
import { lazy, Suspense, useId, useState, type KeyboardEvent } from 'react'
import { formatDateTime, nothing } from '../../lib/format.ts'
import { Card } from '../../ui/Card.tsx'
import { IconButton } from '../../ui/IconButton.tsx'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { colorToken, summaryOf, type ChartData, type ChartMark, type ChartScale } from './chart-data.ts'
import { ChartTable } from './ChartTable.tsx'
import { useSeen } from './use-seen.ts'

const Plot = lazy(() => import('./Plot.tsx'))

type Props = {
  title: string
  /** Undefined while loading. Keep its identity while it says the same. */
  data: ChartData | undefined
  scale: ChartScale
  /** In place of the picture when there is nothing to draw (spec 2.10). */
  emptyText: string
  heightPx?: 200 | 250
  marks?: readonly ChartMark[]
  syncKey?: string
  /** Writes a time on the axis, given in ms; by default in the format of spec 2.10. */
  formatTime?: (timeMs: number) => string
  onZoom?: (fromSeconds: number, toSeconds: number) => void
}

const noMarks: readonly ChartMark[] = []

/**
 * Values over time. The picture comes when it is scrolled to; what it shows can also be read as a sentence, point by
 * point with the arrow keys, and as a table.
 */
export function TimeSeriesChart({ title, data, scale, emptyText, heightPx = 250, marks = noMarks, ...rest }: Props) {
  const { ref, isSeen } = useSeen<HTMLDivElement>()
  const [isTable, setIsTable] = useState(false)
  const [pointed, setPointed] = useState<number | null>(null)
  const [keyed, setKeyed] = useState<number | null>(null)
  const readoutId = useId()
  const count = data?.times.length ?? 0
  const isEmpty = data !== undefined && !data.series.some(({ values }) => values.some((value) => value !== null))

  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count }[event.key]
    if (step === undefined || count === 0) return
    event.preventDefault()
    setKeyed(Math.min(count - 1, Math.max(0, (pointed ?? (step > 0 ? -1 : count)) + step)))
  }

  return (
    <Card
      title={title}
      aside={
        data &&
        !isEmpty && (
          <IconButton
            size={28}
            label={isTable ? 'Show as a chart' : 'Show as a table'}
            icon={isTable ? <ChartLine size={14} aria-hidden /> : <Table2 size={14} aria-hidden />}
            onClick={() => setIsTable(!isTable)}
          />
        )
      }
    >
      <div ref={ref} className="px-3.5 pt-2.5 pb-2">
        {data && !isEmpty && <Readout id={readoutId} data={data} scale={scale} index={pointed} />}
        {isEmpty && (
          <p className="grid place-items-center text-ink-3" style={{ height: heightPx + 24 }}>
            {emptyText}
          </p>
        )}
        {data && !isEmpty && isTable && <ChartTable title={title} data={data} scale={scale} heightPx={heightPx} />}
        {data && !isEmpty && !isTable && (
          <div
            role="img"
            aria-label={summaryOf(title, data, scale.format)}
            aria-describedby={readoutId}
            tabIndex={0}
            onKeyDown={onKeyDown}
            onBlur={() => setKeyed(null)}
            className="rounded-sm"
            style={{ height: heightPx }}
          >
            {isSeen && (
              <Suspense>
                <Plot {...{ data, scale, marks, heightPx }} {...rest} cursor={keyed} onCursor={setPointed} />
              </Suspense>
            )}
          </div>
        )}
        {!data && (
          <div style={{ height: heightPx + 24 }} className="flex items-end">
            <Skeleton className="h-3/4 w-full" />
          </div>
        )}
      </div>
    </Card>
  )
}

/** The legend, and at the crosshair its time and values. Read out politely while the arrow keys move it. */
function Readout({ id, data, scale, index }: { id: string; data: ChartData; scale: ChartScale; index: number | null }) {
  const time = index === null ? undefined : data.times[index]
  return (
    <p
      id={id}
      aria-live="polite"
      className="flex h-6 items-center gap-4 overflow-hidden text-xs whitespace-nowrap text-ink-2"
    >
      {data.series.map((series, at) => {
        const value = index === null ? undefined : series.values[index]
        return (
          <span key={at} className="flex items-center gap-1.5">
            <span
              aria-hidden
              className="size-2 rounded-sm"
              style={{ background: `var(--${colorToken(series, at)})` }}
            />
            {series.label}
            {time !== undefined && (
              <span className="tabular font-medium text-ink">
                {value === null || value === undefined ? nothing : scale.format(value)}
              </span>
            )}
          </span>
        )
      })}
      {time !== undefined && <span className="tabular ml-auto text-ink-3">{formatDateTime(time * 1000)}</span>}
    </p>
  )
}
