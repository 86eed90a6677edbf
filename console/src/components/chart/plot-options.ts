import uPlot from 'uplot'
import { formatChartTime } from '../../lib/format.ts'
import { tokenValue } from '../../lib/theme.ts'
import { colorToken, stacked, type ChartData, type ChartMark, type ChartScale } from './chart-data.ts'

export type PlotInput = {
  data: ChartData
  scale: ChartScale
  marks: readonly ChartMark[]
  heightPx: number
  /** Charts with the same key share their crosshair. */
  syncKey?: string
  /** Writes a time on the axis, given in ms; by default in the format of spec 2.10. */
  formatTime?: (timeMs: number) => string
  /** A stretch of the time axis was chosen, in seconds. */
  onZoom?: (from: number, to: number) => void
}

const axisFont = '11px Geist, system-ui, sans-serif'

/** What uPlot draws: times first, then one array a series; stacked series from the top one down. */
export function alignedData({ data, scale }: Pick<PlotInput, 'data' | 'scale'>): uPlot.AlignedData {
  const values = scale.isStacked ? stacked(data.series).toReversed() : data.series.map((series) => [...series.values])
  return [data.times as number[], ...values]
}

/** Everything about a chart but its data. `latest` is asked while drawing, so that marks may change. */
export function plotOptions(latest: () => PlotInput, widthPx: number): uPlot.Options {
  const { data, scale, heightPx, syncKey } = latest()
  const order = data.series.map((series, index) => ({ series, color: colorToken(series, index) }))
  if (scale.isStacked) order.reverse()
  const axis = { stroke: () => tokenValue('n9'), font: axisFont, ticks: { show: false } }
  return {
    width: widthPx,
    height: heightPx,
    padding: [10, 8, 0, 0],
    legend: { show: false },
    cursor: {
      y: false,
      drag: { x: true, y: false, setScale: false },
      points: { size: 6 },
      ...(syncKey && { sync: { key: syncKey } }),
    },
    scales: {
      ...(data.series.some(({ kind }) => kind === 'bars') && { x: { range: aroundBars(data.times) } }),
      y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(scale.max ?? 0, (high ?? 1) * 1.05) || 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 72,
        values: (plot, ticks) => timeLabels(plot, ticks, latest().formatTime),
      },
      {
        ...axis,
        grid: { stroke: () => tokenValue('n4'), width: 1 },
        size: (_, labels) => 14 + 6.4 * Math.max(2, ...(labels ?? []).map(({ length }) => length)),
        space: 36,
        values: (_, ticks) => ticks.map(scale.format),
      },
    ],
    series: [{}, ...order.map(({ series, color }) => seriesOptions(series.label, series.kind, color))],
    hooks: {
      draw: [(plot) => drawThreshold(plot, scale), (plot) => drawMarks(plot, latest().marks)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          if (width < 8) return
          latest().onZoom?.(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'))
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  }
}

/** Half a bar of room at both ends. */
function aroundBars(times: ChartData['times']): uPlot.Range.Function {
  const step = times.length > 1 ? ((times.at(-1) ?? 0) - (times[0] ?? 0)) / (times.length - 1) : 3600
  return (_, low, high) => [(low ?? 0) - step / 2, (high ?? 0) + step / 2]
}

function timeLabels(plot: uPlot, ticks: number[], formatTime: PlotInput['formatTime']): string[] {
  if (formatTime) return ticks.map((seconds) => formatTime(seconds * 1000))
  const { min = 0, max = 0 } = plot.scales['x'] ?? {}
  return ticks.map((seconds) => formatChartTime(seconds * 1000, ((max ?? 0) - (min ?? 0)) * 1000))
}

function seriesOptions(label: string, kind: ChartData['series'][number]['kind'], color: string): uPlot.Series {
  const stroke = () => tokenValue(color)
  const faint = () => `color-mix(in srgb, ${tokenValue(color)} 12%, transparent)`
  const common: uPlot.Series = { label, stroke, points: { show: false }, spanGaps: false }
  if (kind === 'bars') {
    const paths = uPlot.paths.bars?.({ size: [0.7, 40], gap: 1, radius: 0.15 })
    return { ...common, width: 0, fill: stroke, ...(paths && { paths }) }
  }
  if (kind === 'points')
    return { ...common, width: 0, paths: () => null, points: { show: true, size: 4, width: 0, fill: stroke } }
  return { ...common, width: 1.5, ...(kind === 'area' && { fill: faint }) }
}

function drawThreshold(plot: uPlot, { threshold }: ChartScale): void {
  if (!threshold) return
  const { ctx, bbox } = plot
  const y = Math.round(plot.valToPos(threshold.value, 'y', true))
  if (y < bbox.top || y > bbox.top + bbox.height) return
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = tokenValue('bad')
  ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio])
  line(ctx, bbox.left, y, bbox.left + bbox.width, y)
  ctx.font = scaledFont()
  ctx.textAlign = 'right'
  ctx.textBaseline = 'bottom'
  ctx.fillText(threshold.label, bbox.left + bbox.width - 4, y - 2 * devicePixelRatio)
  ctx.restore()
}

function drawMarks(plot: uPlot, marks: readonly ChartMark[]): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = tokenValue('n8')
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
  ctx.font = scaledFont()
  ctx.textAlign = 'left'
  ctx.textBaseline = 'top'
  for (const { timeSeconds, label } of marks) {
    const x = Math.round(plot.valToPos(timeSeconds, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    line(ctx, x, bbox.top, x, bbox.top + bbox.height)
    ctx.fillText(label, x + 4 * devicePixelRatio, bbox.top)
  }
  ctx.restore()
}

function line(ctx: CanvasRenderingContext2D, fromX: number, fromY: number, toX: number, toY: number): void {
  ctx.lineWidth = devicePixelRatio
  ctx.beginPath()
  ctx.moveTo(fromX, fromY)
  ctx.lineTo(toX, toY)
  ctx.stroke()
}

const scaledFont = (): string => `${10.5 * devicePixelRatio}px Geist, system-ui, sans-serif`
