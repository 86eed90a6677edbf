import type uPlot from 'uplot'
import { tokenValue } from '../../lib/theme-tokens.ts'
import type { ChartMark, ChartScale } from './chart-data.ts'

// These functions draw on uPlot's canvas, in device pixels.

/** The font of axes, as a canvas needs it. */
export const axisFont = '11px Geist, system-ui, sans-serif'

/** Draws the dashed horizontal line of the threshold with its label, if the threshold is within the axis. */
export function drawThreshold(plot: uPlot, { threshold }: ChartScale): void {
  if (!threshold) return
  const { ctx, bbox } = plot
  const y = Math.round(plot.valToPos(threshold.value, 'y', true))
  if (y < bbox.top || y > bbox.top + bbox.height) return
  ctx.save()
  ctx.strokeStyle = ctx.fillStyle = tokenValue('bad')
  ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio])
  line(ctx, bbox.left, y, bbox.left + bbox.width, y)
  ctx.font = `${10.5 * devicePixelRatio}px Geist, system-ui, sans-serif`
  // The label is on the left, so that it does not cover the latest values.
  ctx.textAlign = 'left'
  ctx.textBaseline = 'bottom'
  ctx.fillText(threshold.label, bbox.left + 4 * devicePixelRatio, y - 2 * devicePixelRatio)
  ctx.restore()
}

/** The minimum width of the part without data in which its label fits. */
const noDataLabelPx = 72

/** Shades the part of the plot before `beginsAt` (Unix seconds), in which there cannot be data. */
export function drawNoData(plot: uPlot, beginsAt: number | undefined): void {
  const { ctx, bbox } = plot
  if (beginsAt === undefined) return
  const width = Math.min(Math.round(plot.valToPos(beginsAt, 'x', true)) - bbox.left, bbox.width)
  if (!(width > 0)) return
  ctx.save()
  ctx.fillStyle = tokenValue('n2')
  ctx.fillRect(bbox.left, bbox.top, width, bbox.height)
  if (width >= noDataLabelPx * devicePixelRatio) {
    ctx.fillStyle = tokenValue('n9')
    ctx.font = `${11 * devicePixelRatio}px Geist, system-ui, sans-serif`
    ctx.textAlign = 'center'
    ctx.textBaseline = 'middle'
    ctx.fillText('No data before', bbox.left + width / 2, bbox.top + bbox.height / 2)
  }
  ctx.restore()
}

/** Draws the vertical dashed line of each mark. */
export function drawMarks(plot: uPlot, marks: readonly ChartMark[]): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.setLineDash([2 * devicePixelRatio, 3 * devicePixelRatio])
  for (const { timeSeconds, isBad } of marks) {
    const x = Math.round(plot.valToPos(timeSeconds, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.strokeStyle = tokenValue(isBad ? 'bad' : 'n8')
    line(ctx, x, bbox.top, x, bbox.top + bbox.height)
  }
  ctx.restore()
}

/** The distance between the plot and the labels of an axis, which is uPlot's default. */
const labelGapPx = 5

/** Draws the last label of the time axis, which ends where the plot ends. */
export function drawEndLabel({ ctx, bbox }: uPlot, label: string): void {
  ctx.save()
  ctx.fillStyle = tokenValue('n9')
  ctx.font = `${11 * devicePixelRatio}px Geist, system-ui, sans-serif`
  ctx.textAlign = 'right'
  ctx.textBaseline = 'top'
  ctx.fillText(label, bbox.left + bbox.width, bbox.top + bbox.height + labelGapPx * devicePixelRatio)
  ctx.restore()
}

function line(ctx: CanvasRenderingContext2D, fromX: number, fromY: number, toX: number, toY: number): void {
  ctx.lineWidth = devicePixelRatio
  ctx.beginPath()
  ctx.moveTo(fromX, fromY)
  ctx.lineTo(toX, toY)
  ctx.stroke()
}
