import { useEffect, useEffectEvent, useLayoutEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { onThemeChange } from '../../lib/theme.ts'
import { alignedData, plotOptions, type PlotInput } from './plot-options.ts'

type Props = PlotInput & {
  /** Which point the crosshair is at; null when it is nowhere. */
  onCursor: (index: number | null) => void
  /** Moved with the arrow keys; null leaves the crosshair to the pointer. */
  cursor: number | null
}

/** The canvas. Made once; new data is given to it, and a new theme draws it again. */
export default function Plot({ onCursor, cursor, ...input }: Props) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(null)
  const latest = useRef(input)
  const tell = useEffectEvent(onCursor)
  const shape = input.data.series.map(({ label, kind }) => `${label}:${kind}`).join('|')

  useLayoutEffect(() => {
    latest.current = input
  })

  useLayoutEffect(() => {
    const element = place.current
    if (!element) return undefined
    const options = plotOptions(() => latest.current, element.clientWidth)
    const made = new uPlot(
      { ...options, hooks: { ...options.hooks, setCursor: [({ cursor: { idx } }) => tell(idx ?? null)] } },
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
    // Another set of series is another chart; anything else is given to the one there is.
  }, [shape])

  useEffect(() => plot.current?.setData(alignedData(latest.current)), [input.data])
  useEffect(() => plot.current?.redraw(false), [input.marks])
  useEffect(() => {
    const time = cursor === null ? undefined : latest.current.data.times[cursor]
    if (time !== undefined) plot.current?.setCursor({ left: plot.current.valToPos(time, 'x'), top: 0 })
  }, [cursor])

  return <div ref={place} style={{ height: input.heightPx }} />
}
