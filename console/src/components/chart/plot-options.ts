import uPlot from 'uplot'
import { formatChartTime } from '../../lib/format.ts'
import { tokenValue } from '../../lib/theme-tokens.ts'
import {
  colorToken,
  dashes,
  drawnTimes,
  isolatedPoints,
  stacked,
  valueRange,
  type ChartData,
  type ChartMark,
  type ChartScale,
  type ChartSeries,
} from './chart-data.ts'
import { axisFont, drawEndLabel, drawMarks, drawNoData, drawThreshold } from './plot-drawing.ts'
import { timeLabels } from './time-labels.ts'

export type PlotInput = {
  data: ChartData
  scale: ChartScale
  marks: readonly ChartMark[]
  heightPx: number
  /** Charts with the same key share their crosshair. */
  syncKey?: string
  /** Formats a time on the axis; by default in the format of spec 2.10. */
  formatTime?: (timeMs: number) => string
  /** Called with the selected range, in Unix seconds. Without it, users cannot select a range. */
  onZoom?: (from: number, to: number) => void
  /** Start of the data in Unix seconds, if it is later than the start of the axis. The part of the plot before it is shaded. */
  beginsAt?: number | undefined
  /** Labels of highlighted lines; the others fade. */
  highlighted?: ReadonlySet<string> | undefined
}

/** In charts with more lines than this, the line nearest to the pointer is highlighted, if it is not further away than `focusDistancePx`. */
const maxUnfocusedLines = 4
const focusDistancePx = 24
/** The opacity of lines that are not highlighted. */
export const fadedAlpha = 0.15

/** Padding to the right of the plot. */
const rightPx = 8

/** Shorter drags are accidental, and select no range. */
const minDragPx = 8

const forPowers = (count: number, stepsOf: (exponent: number) => number[]) =>
  Array.from({ length: count }, (_, exponent) => stepsOf(exponent)).flat()
const steps = {
  whole: forPowers(16, (n) => [1, 2, 5].map((first) => first * 10 ** n)),
  binary: forPowers(50, (n) => [2 ** n]),
}

/** uPlot's data: times first, then one array per series; stacked series from top to bottom. */
export function alignedData({ data, scale }: Pick<PlotInput, 'data' | 'scale'>): uPlot.AlignedData {
  const values = scale.isStacked ? stacked(data.series).toReversed() : data.series.map((series) => [...series.values])
  return [drawnTimes(data), ...values]
}

/** Describes the properties that uPlot cannot change later: when the returned text changes, the plot is created again. */
export const shapeOf = ({ data, scale }: PlotInput): string =>
  [
    data.isUtc,
    scale.steps,
    ...data.series.map(({ label, kind, color, dash }) => [label, kind, color, dash].join(':')),
  ].join('|')

/** All options of a chart except its data. Its callbacks read the current input through `latest`. */
export function plotOptions(latest: () => PlotInput, widthPx: number): uPlot.Options {
  const { data, scale, heightPx, syncKey, onZoom } = latest()
  const drawnSeries = data.series.map((series, index) => ({ series, color: colorToken(series, index) }))
  if (scale.isStacked) drawnSeries.reverse()
  const axis = { stroke: () => tokenValue('n9'), font: axisFont, ticks: { show: false } }
  // uPlot aligns all labels of an axis in the same way, so that only a drawn label can end where the plot ends.
  let endLabel = ''
  const hasManyLines = data.series.length > maxUnfocusedLines
  return {
    width: widthPx,
    height: heightPx,
    padding: [10, rightPx, 0, 0],
    legend: { show: false },
    focus: { alpha: fadedAlpha },
    cursor: {
      y: false,
      drag: { x: onZoom !== undefined, y: false, setScale: false },
      points: { size: 6, one: hasManyLines },
      ...(hasManyLines && { focus: { prox: focusDistancePx } }),
      ...(syncKey && { sync: { key: syncKey, scales: ['x', null] } }),
    },
    ...(data.isUtc && { tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC') }),
    scales: {
      x: { range: (_, low, high) => wholeBuckets(latest().data, low, high) },
      y: { range: (_, low, high) => valueRange(latest().scale, low ?? null, high ?? null) },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 28,
        space: 84,
        values: (plot, ticks) => {
          const { labels, end } = labelsOf(plot, ticks, latest())
          endLabel = end
          return labels
        },
      },
      {
        ...axis,
        grid: { stroke: () => tokenValue('n4'), width: 1 },
        size: (_, labels) => 14 + 6.4 * Math.max(2, ...(labels ?? []).map(({ length }) => length)),
        space: 36,
        ...(scale.steps && { incrs: steps[scale.steps] }),
        values: (_, ticks) => ticks.map((tick) => latest().scale.format(tick)),
      },
    ],
    series: [{}, ...drawnSeries.map(({ series, color }) => seriesOptions(series, color, scale))],
    hooks: {
      drawClear: [(plot) => drawNoData(plot, latest().beginsAt)],
      draw: [
        (plot) => drawThreshold(plot, latest().scale),
        (plot) => drawMarks(plot, latest().marks),
        (plot) => drawEndLabel(plot, endLabel),
      ],
      setSelect: [(plot) => zoom(plot, latest().onZoom)],
    },
  }
}

/** Values are drawn in the middle of their buckets, so the axis spans whole buckets. */
function wholeBuckets({ bucketSeconds = 0 }: ChartData, low: number | null, high: number | null): uPlot.Range.MinMax {
  if (low === null || high === null) return [low, high]
  return [low - bucketSeconds / 2, high + bucketSeconds / 2]
}

/**
 * Reports the selected range and clears the selection. All charts that share a crosshair receive the selection; only the one in which the
 * user made it reports the range.
 */
function zoom(plot: uPlot, onZoom: PlotInput['onZoom']): void {
  const { left, width } = plot.select
  if (width === 0) return
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
  if (width >= minDragPx && plot.cursor.event) onZoom?.(plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x'))
}

/** The labels of these ticks, and of the end of the axis. */
function labelsOf(plot: uPlot, ticks: readonly number[], { data, formatTime }: PlotInput) {
  const { min = 0, max = 0 } = plot.scales['x'] ?? {}
  const spanSeconds = (max ?? 0) - (min ?? 0)
  return timeLabels({
    ticks,
    max: max ?? 0,
    last: data.times.at(-1) ?? 0,
    pxPerSecond: plot.bbox.width / devicePixelRatio / Math.max(spanSeconds, 1),
    format: formatTime ?? ((timeMs) => formatChartTime(timeMs, spanSeconds * 1000)),
  })
}

function seriesOptions({ label, kind, dash }: ChartSeries, color: string, { isStacked }: ChartScale): uPlot.Series {
  const stroke = () => tokenValue(color)
  const faint = () => `color-mix(in srgb, ${tokenValue(color)} 12%, transparent)`
  const filter: uPlot.Series.Points.Filter = (plot, index) => isolatedPoints(Array.from(plot.data[index] ?? []))
  const common: uPlot.Series = { label, stroke, spanGaps: false }
  if (kind === 'bars') {
    const paths = uPlot.paths.bars?.({ size: [0.7, 40, 2], gap: 1, radius: isStacked ? 0 : 0.15 })
    return { ...common, width: 0, fill: stroke, points: { show: false }, ...(paths && { paths }) }
  }
  if (kind === 'points')
    return { ...common, width: 0, paths: () => null, points: { show: true, size: 4, width: 0, fill: stroke } }
  const points = { show: false, filter, size: 4, width: 0, fill: stroke }
  if (kind === 'limit') return { ...common, width: 1, dash: [4, 4], points }
  const dashOptions = dash && { dash: [...dashes[dash]] }
  return { ...common, width: 1.5, points, ...dashOptions, ...(kind === 'area' && { fill: faint }) }
}
