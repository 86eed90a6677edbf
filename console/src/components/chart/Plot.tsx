import { useEffect, useEffectEvent, useLayoutEffect, useRef } from 'react'
import uPlot from 'uplot'
import { onThemeChange } from '../../lib/theme.ts'
import './chart.css'
import { drawnTimes } from './chart-data.ts'
import type { ChartFrame } from './ChartMarks.tsx'
import type { ChartCursor } from './ChartPointer.tsx'
import { alignedData, plotOptions, shapeOf, type PlotInput } from './plot-options.ts'

type Props = PlotInput & {
  /** Where the crosshair is; null when it is nowhere. */
  onCursor: (cursor: ChartCursor | null) => void
  /** Where the plotted area is, after each drawing. */
  onFrame: (frame: ChartFrame) => void
  /** The point the crosshair was moved to with the arrow keys; null leaves it to the pointer. */
  keyed: number | null
}

/** The canvas. Made once; new data is given to it, and a new theme draws it again. */
export default function Plot({ onCursor, onFrame, keyed, ...input }: Props) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const latest = useRef(input)
  const tell = useEffectEvent((made: uPlot) => onCursor(cursorOf(made)))
  const frame = useEffectEvent((made: uPlot) => onFrame(frameOf(made)))
  const shape = shapeOf(input)

  useLayoutEffect(() => {
    latest.current = input
  })

  useLayoutEffect(() => {
    const element = place.current
    if (!element) return undefined
    const options = plotOptions(() => latest.current, element.clientWidth)
    const { draw = [], ...hooks } = options.hooks ?? {}
    const made = new uPlot(
      { ...options, hooks: { ...hooks, draw: [draw, frame].flat(), setCursor: [tell] } },
      alignedData(latest.current),
      element,
    )
    plot.current = made
    const resize = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: latest.current.heightPx }),
    )
    resize.observe(element)
    const unfollow = onThemeChange(() => made.redraw(false, true))
    return () => {
      resize.disconnect()
      unfollow()
      made.destroy()
    }
    // Another shape is another chart; anything else is given to the one there is.
  }, [shape])

  useEffect(() => plot.current?.setData(alignedData(latest.current)), [input.data])
  useEffect(() => plot.current?.redraw(false), [input.marks])
  useEffect(() => {
    if (keyed === null || !plot.current) return undefined
    const { data, syncKey } = latest.current
    const charts = syncKey ? uPlot.sync(syncKey).plots : [plot.current]
    const at = drawnTimes(data)[keyed] ?? 0
    for (const chart of charts) chart.setCursor({ left: chart.valToPos(at, 'x'), top: 0 })
    return () => {
      for (const chart of charts) chart.setCursor({ left: -10, top: -10 })
    }
  }, [keyed])

  return <div ref={place} style={{ height: input.heightPx }} />
}

function cursorOf({ cursor: { idx, left = -1 }, over, width }: uPlot): ChartCursor | null {
  return idx == null || left < 0 ? null : { index: idx, leftPx: over.offsetLeft + left, widthPx: width }
}

function frameOf({ bbox, scales }: uPlot): ChartFrame {
  const { min, max } = scales['x'] ?? {}
  const [leftPx, widthPx, topPx, heightPx] = [bbox.left, bbox.width, bbox.top, bbox.height].map(
    (px) => px / devicePixelRatio,
  ) as [number, number, number, number]
  return { leftPx, widthPx, bottomPx: topPx + heightPx, from: min ?? 0, to: max ?? 0 }
}
