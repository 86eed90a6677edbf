import type uPlot from 'uplot'
import { tokenValue } from '../../lib/theme.ts'
import type { ChartMark, ChartScale } from './chart-data.ts'

/** Draws over the series on uPlot's canvas, in device pixels. */

export const axisFont = '11px Geist, system-ui, sans-serif'

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
  // On the left, because the latest values are on the right.
  ctx.textAlign = 'left'
  ctx.textBaseline = 'bottom'
  ctx.fillText(threshold.label, bbox.left + 4 * devicePixelRatio, y - 2 * devicePixelRatio)
  ctx.restore()
}

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

function line(ctx: CanvasRenderingContext2D, fromX: number, fromY: number, toX: number, toY: number): void {
  ctx.lineWidth = devicePixelRatio
  ctx.beginPath()
  ctx.moveTo(fromX, fromY)
  ctx.lineTo(toX, toY)
  ctx.stroke()
}
