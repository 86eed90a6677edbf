/** A line of a chart: pairs of the number of versions and a value above 0. */
export type Series = { name: string; points: [versions: number, value: number][] }

/** `target`: the value that the sum of the series, or each of them, must not exceed; drawn as a dashed line. */
export type Chart = { title: string; unit: string; series: Series[]; target?: number }

const [width, height] = [720, 360]
const margin = { left: 64, right: 150, top: 48, bottom: 44 }
/** Colours that are readable on white and on black. */
const colours = ['#2f81f7', '#d9730d', '#2da44e', '#a371f7', '#e5534b', '#8b949e']

/** Readable in both themes: the text takes the colour of the theme, and the background is transparent. */
const style = `text { font: 13px system-ui, sans-serif; fill: #57606a } .title { font-weight: 600; fill: #24292f } .grid { stroke: #8b949e55 } .target { stroke: #e5534b; stroke-dasharray: 6 4 } @media (prefers-color-scheme: dark) { text { fill: #9da7b1 } .title { fill: #e6edf3 } }`

const escaped = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const rounded = (value: number) => Math.round(value * 10) / 10
const labelOf = (value: number) => (value >= 1 ? value.toLocaleString('en') : String(Number(value.toPrecision(1))))

/** Returns the powers of ten from below the smallest to above the largest value. */
function decades(values: number[]): number[] {
  const first = Math.floor(Math.log10(Math.min(...values)))
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))))
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i))
}

/** Returns a scale from the logarithm of a value to a position. */
function logScale(ticks: number[], from: number, to: number): (value: number) => number {
  const [low, high] = [Math.log10(ticks[0] ?? 1), Math.log10(ticks.at(-1) ?? 10)]
  return (value) => rounded(from + ((Math.log10(value) - low) / (high - low)) * (to - from))
}

/** Draws lines over the number of versions as SVG, both axes logarithmic. */
export function drawChart({ title, unit, series, target }: Chart): string {
  const points = series.flatMap((line) => line.points)
  const xTicks = decades(points.map(([versions]) => versions))
  const yTicks = decades([...points.map(([, value]) => value), ...(target === undefined ? [] : [target])])
  const [right, bottom] = [width - margin.right, height - margin.bottom]
  const x = logScale(xTicks, margin.left, right)
  const y = logScale(yTicks, bottom, margin.top)
  const parts = [
    `<text class="title" x="${margin.left}" y="22">${escaped(title)}</text>`,
    ...yTicks.map(
      (tick) =>
        `<line class="grid" x1="${margin.left}" x2="${right}" y1="${y(tick)}" y2="${y(tick)}"/><text x="${margin.left - 8}" y="${y(tick) + 4}" text-anchor="end">${labelOf(tick)}</text>`,
    ),
    ...xTicks.map((tick) => `<text x="${x(tick)}" y="${bottom + 20}" text-anchor="middle">${labelOf(tick)}</text>`),
    `<text x="${(margin.left + right) / 2}" y="${height - 6}" text-anchor="middle">versions</text>`,
    `<text x="${margin.left}" y="40">${escaped(unit)}</text>`,
  ]
  if (target !== undefined)
    parts.push(
      `<line class="target" x1="${margin.left}" x2="${right}" y1="${y(target)}" y2="${y(target)}"/><text x="${right - 6}" y="${y(target) - 6}" text-anchor="end">target: ${labelOf(target)}</text>`,
    )
  for (const [index, line] of series.entries()) {
    const colour = colours[index % colours.length]
    const path = line.points.map(([versions, value]) => `${x(versions)},${y(value)}`).join(' ')
    parts.push(`<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`)
    for (const [versions, value] of line.points)
      parts.push(`<circle cx="${x(versions)}" cy="${y(value)}" r="3.5" fill="${colour}"/>`)
    const top = margin.top + 8 + index * 20
    parts.push(
      `<circle cx="${right + 14}" cy="${top - 4}" r="4" fill="${colour}"/><text x="${right + 24}" y="${top}">${escaped(line.name)}</text>`,
    )
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">\n<style>${style}</style>\n${parts.join('\n')}\n</svg>\n`
}
