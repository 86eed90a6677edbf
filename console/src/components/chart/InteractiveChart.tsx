import {
  Suspense,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type RefObject,
} from 'react'
import { Skeleton } from '../../ui/Skeleton.tsx'
import { ChartMarks, type ChartFrame } from './ChartMarks.tsx'
import { accessibleValueAt, ChartPointer, type ChartCursor } from './ChartPointer.tsx'
import { exactOf, summaryOf } from './chart-data.ts'
import type { PlotInput } from './plot-options.ts'
import { lazyPart } from '../../lib/lazy.tsx'

const Plot = lazyPart(() => import('./Plot.tsx'))

/** Loads the code that draws charts, for pages that show one at the top. */
export const prefetchPlot = (): void => void Plot.preload()

type Props = PlotInput & { title: string }

/** The plot, with a text summary; the arrow keys move through its values. */
export function InteractiveChart({ title, ...input }: Props) {
  const { data, scale, marks, heightPx } = input
  const { ref, hasBeenVisible } = useHasBeenVisible<HTMLDivElement>()
  const [cursor, setCursor] = useState<ChartCursor | null>(null)
  const [keyboardIndex, setKeyboardIndex] = useState<number | null>(null)
  const [frame, setFrame] = useState<ChartFrame | null>(null)
  const liveRegionId = useId()
  const count = data.times.length
  const summary = useMemo(() => summaryOf(title, data, exactOf(scale)), [title, data, scale])

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return setKeyboardIndex(null)
    const step = { ArrowLeft: -1, ArrowRight: 1, Home: -count, End: count }[event.key]
    if (step === undefined || count === 0) return
    event.preventDefault()
    setKeyboardIndex(Math.min(count - 1, Math.max(0, (cursor?.index ?? (step > 0 ? -1 : count)) + step)))
  }

  return (
    <div ref={ref} className="relative" style={{ height: heightPx }}>
      <div
        role="img"
        aria-label={summary}
        aria-describedby={liveRegionId}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onBlur={() => setKeyboardIndex(null)}
        className="rounded-sm"
        style={{ height: heightPx }}
      >
        {/* The placeholder of the loading chart stays until the first draw. */}
        {hasBeenVisible && frame === null && (
          <div aria-hidden className="absolute inset-0 flex items-end pb-7">
            <Skeleton className="h-3/4 w-full" />
          </div>
        )}
        {hasBeenVisible && (
          <Suspense>
            <Plot
              {...input}
              keyboardIndex={keyboardIndex}
              onCursor={(next) => setCursor((current) => (isSame(current, next) ? current : next))}
              onFrame={(next) => setFrame((current) => (isSame(current, next) ? current : next))}
            />
          </Suspense>
        )}
      </div>
      {frame && <ChartMarks title={title} marks={marks} frame={frame} />}
      {cursor && <ChartPointer data={data} scale={scale} cursor={cursor} />}
      <p id={liveRegionId} aria-live="polite" className="sr-only">
        {keyboardIndex !== null && accessibleValueAt(data, scale, keyboardIndex)}
      </p>
    </div>
  )
}

function isSame(a: object | null, b: object | null): boolean {
  if (!a || !b) return a === b
  const valuesOfA = Object.values(a)
  return Object.values(b).every((value, index) => value === valuesOfA[index])
}

/** The plot's code loads this far before the chart scrolls into view. */
const marginPx = 200

/** Whether the element has ever been in the viewport, or within `marginPx` of it. */
function useHasBeenVisible<E extends Element>(): { ref: RefObject<E | null>; hasBeenVisible: boolean } {
  const ref = useRef<E>(null)
  const [hasBeenVisible, setHasBeenVisible] = useState(false)
  // Draws charts at the top of the page with its first frame. The observer reports only after that frame.
  useLayoutEffect(() => {
    const box = ref.current?.getBoundingClientRect()
    if (box && box.top < innerHeight + marginPx && box.bottom > -marginPx) setHasBeenVisible(true)
  }, [])
  useEffect(() => {
    if (!ref.current || hasBeenVisible) return undefined
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) setHasBeenVisible(true)
      },
      { rootMargin: `${marginPx}px` },
    )
    observer.observe(ref.current)
    return () => observer.disconnect()
  }, [hasBeenVisible])
  return { ref, hasBeenVisible }
}
