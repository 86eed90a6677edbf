import { lazy, Suspense, useId, useMemo, useState, type KeyboardEvent } from 'react'
import { summaryOf } from './chart-data.ts'
import { ChartMarks, type ChartFrame } from './ChartMarks.tsx'
import { ChartPointer, spokenAt, type ChartCursor } from './ChartPointer.tsx'
import { exactOf } from './moment.ts'
import type { PlotInput } from './plot-options.ts'
import { useSeen } from './use-seen.ts'

const Plot = lazy(() => import('./Plot.tsx'))

type Props = PlotInput & { title: string }

/** The drawing. What it shows can also be read as a sentence, and point by point with the arrow keys. */
export function ChartPicture({ title, ...input }: Props) {
  const { data, scale, marks, heightPx } = input
  const { ref, isSeen } = useSeen<HTMLDivElement>()
  const [cursor, setCursor] = useState<ChartCursor | null>(null)
  const [keyed, setKeyed] = useState<number | null>(null)
  const [frame, setFrame] = useState<ChartFrame | null>(null)
  const spokenId = useId()
  const count = data.times.length
  const summary = useMemo(() => summaryOf(title, data, exactOf(scale)), [title, data, scale])

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return setKeyed(null)
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count }[event.key]
    if (step === undefined || count === 0) return
    event.preventDefault()
    setKeyed(Math.min(count - 1, Math.max(0, (cursor?.index ?? (step > 0 ? -1 : count)) + step)))
  }

  return (
    <div ref={ref} className="relative" style={{ height: heightPx }}>
      <div
        role="img"
        aria-label={summary}
        aria-describedby={spokenId}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onBlur={() => setKeyed(null)}
        className="rounded-sm"
        style={{ height: heightPx }}
      >
        {isSeen && (
          <Suspense>
            <Plot
              {...input}
              keyed={keyed}
              onCursor={(next) => setCursor((before) => (isSame(before, next) ? before : next))}
              onFrame={(next) => setFrame((before) => (isSame(before, next) ? before : next))}
            />
          </Suspense>
        )}
      </div>
      {frame && <ChartMarks title={title} marks={marks} frame={frame} />}
      {cursor && <ChartPointer data={data} scale={scale} cursor={cursor} />}
      <p id={spokenId} aria-live="polite" className="sr-only">
        {keyed !== null && spokenAt(data, scale, keyed)}
      </p>
    </div>
  )
}

function isSame(a: object | null, b: object | null): boolean {
  if (!a || !b) return a === b
  const before = Object.values(a)
  return Object.values(b).every((value, at) => value === before[at])
}
