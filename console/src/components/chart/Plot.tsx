import { useEffect, useEffectEvent, useLayoutEffect, useRef } from 'react'
import './valid-language.ts'
import uPlot from 'uplot'
import { onThemeChange } from '../../lib/theme-tokens.ts'
import './chart.css'
import { drawnTimes } from './chart-data.ts'
import type { ChartFrame } from './ChartMarks.tsx'
import type { ChartCursor } from './ChartPointer.tsx'
import { queueDraw } from './draw-queue.ts'
import { alignedData, fadedAlpha, plotOptions, shapeOf, type PlotInput } from './plot-options.ts'

type Props = PlotInput & {
  /** Reports the position of the crosshair; null when the pointer is outside of the chart. */
  onCursor: (cursor: ChartCursor | null) => void
  /** Reports the plotted area after each draw. */
  onFrame: (frame: ChartFrame) => void
  /** The index that the user moved to with the arrow keys; null while the pointer controls the crosshair. */
  keyboardIndex: number | null
}

/** The uPlot canvas. Created once; data changes update it, and theme changes redraw it. */
export default function Plot({ onCursor, onFrame, keyboardIndex, ...input }: Props) {
  const container = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const latest = useRef(input)
  const drawnInput = useRef<PlotInput>(null)
  const nearest = useRef<string>(null)
  const reportCursor = useEffectEvent((chart: uPlot) => onCursor(cursorOf(chart, nearest.current)))
  const reportFrame = useEffectEvent((chart: uPlot) => onFrame(frameOf(chart)))
  const shape = shapeOf(input)

  useLayoutEffect(() => {
    latest.current = input
  })

  useLayoutEffect(() => {
    const element = container.current
    if (!element) return undefined
    let chart: uPlot | null = null
    // Unlike `redraw`, it also updates the colours of bars, which uPlot keeps in their paths, and does not change the scales.
    const redraw = () => chart?.setSize({ width: element.clientWidth, height: latest.current.heightPx })
    const resize = new ResizeObserver(redraw)
    const unsubscribe = onThemeChange(redraw)
    const cancelDraw = queueDraw(() => {
      const options = plotOptions(() => latest.current, element.clientWidth)
      const { draw = [], ...hooks } = options.hooks ?? {}
      const setSeries = (plot: uPlot, index: number | null) => {
        nearest.current = index === null ? null : String(plot.series[index]?.label)
      }
      chart = new uPlot(
        {
          ...options,
          hooks: { ...hooks, draw: [draw, reportFrame].flat(), setCursor: [reportCursor], setSeries: [setSeries] },
        },
        alignedData(latest.current),
        element,
      )
      plot.current = chart
      drawnInput.current = latest.current
      if (latest.current.highlighted) fade(chart, latest.current.highlighted)
      resize.observe(element)
    })
    return () => {
      cancelDraw()
      resize.disconnect()
      unsubscribe()
      chart?.destroy()
      plot.current = null
      nearest.current = null
    }
    // A new shape needs a new plot; all other changes update the existing one.
  }, [shape])

  useEffect(
    () =>
      queueDraw(() => {
        const { current: previous } = drawnInput
        const { data, marks, highlighted, beginsAt } = latest.current
        if (!plot.current || !previous) return
        drawnInput.current = latest.current
        if (previous.data !== data) plot.current.setData(alignedData(latest.current))
        if (previous.highlighted !== highlighted) fade(plot.current, highlighted)
        else if (previous.marks !== marks || previous.beginsAt !== beginsAt) plot.current.redraw(false)
      }),
    [input.data, input.marks, input.highlighted, input.beginsAt],
  )
  useEffect(() => {
    if (keyboardIndex === null || !plot.current) return undefined
    const { data, syncKey } = latest.current
    const charts = syncKey ? uPlot.sync(syncKey).plots : [plot.current]
    const time = drawnTimes(data)[keyboardIndex] ?? 0
    for (const chart of charts) chart.setCursor({ left: chart.valToPos(time, 'x'), top: 0 })
    return () => {
      for (const chart of charts) chart.setCursor({ left: -10, top: -10 })
    }
  }, [keyboardIndex])

  return <div ref={container} style={{ height: input.heightPx }} />
}

function cursorOf({ cursor: { idx, left = -1 }, over, width }: uPlot, nearest: string | null): ChartCursor | null {
  return idx == null || left < 0 ? null : { index: idx, leftPx: over.offsetLeft + left, plotWidthPx: width, nearest }
}

/** Fades the lines that are not highlighted. */
function fade(plot: uPlot, highlighted: ReadonlySet<string> | undefined): void {
  for (const series of plot.series.slice(1))
    series.alpha = !highlighted || highlighted.has(String(series.label)) ? 1 : fadedAlpha
  plot.redraw(false)
}

function frameOf({ bbox, scales }: uPlot): ChartFrame {
  const { min, max } = scales['x'] ?? {}
  const [leftPx, widthPx, topPx, heightPx] = [bbox.left, bbox.width, bbox.top, bbox.height].map(
    (px) => px / devicePixelRatio,
  ) as [number, number, number, number]
  return { leftPx, widthPx, bottomPx: topPx + heightPx, from: min ?? 0, to: max ?? 0 }
}
