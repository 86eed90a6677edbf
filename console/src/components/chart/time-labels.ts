/** Maximum width of a character of a label on an axis. */
const characterPx = 6
/** The minimum distance between the middle of a label and the last one, whose right edge is at the end of the axis. */
const minDistancePx = 84

type TimeAxis = {
  /** Times in Unix seconds. */
  ticks: readonly number[]
  max: number
  /** The time of the last value. */
  last: number
  pxPerSecond: number
  format: (timeMs: number) => string
}

/**
 * Returns the label of each tick, and of the end of the axis. Labels that repeat the previous one or are too close to the last one are
 * empty; so is the last one if it would repeat the label before it.
 */
export function timeLabels({ ticks, max, last, pxPerSecond, format }: TimeAxis): { labels: string[]; end: string } {
  const formatted = ticks.map((seconds) => format(seconds * 1000))
  const end = format(last * 1000)
  const distancePx = Math.max(minDistancePx, end.length * characterPx * 1.5)
  const labels = formatted.map((label, index) => {
    const isTooClose = (max - (ticks[index] ?? 0)) * pxPerSecond < distancePx
    return label === formatted[index - 1] || isTooClose ? '' : label
  })
  return { labels, end: labels.includes(end) ? '' : end }
}
