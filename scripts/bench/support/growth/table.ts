import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** A line through the measurements: the value without versions, and its growth per version. */
type Fit = { base: number; perVersion: number }

/** Fits a line by least squares. Relative errors count, so that small sizes are as important as large ones. */
export function fitLine(points: [versions: number, value: number][]): Fit {
  let [weights, x, y, xx, xy] = [0, 0, 0, 0, 0]
  for (const [versions, value] of points) {
    const weight = 1 / Math.max(value, Number.EPSILON) ** 2
    weights += weight
    x += weight * versions
    y += weight * value
    xx += weight * versions * versions
    xy += weight * versions * value
  }
  const determinant = weights * xx - x * x
  if (points.length < 2) return { base: y / weights, perVersion: 0 }
  return { base: (y * xx - x * xy) / determinant, perVersion: (weights * xy - x * y) / determinant }
}

/** Returns a number with at most three digits that count. */
export const digits = (value: number): string => Number(value.toPrecision(value < 1 ? 2 : 3)).toLocaleString('en')

/** A row of a table of measurements. `hasFit`: the value grows with the number of versions. */
export type Row<M> = { name: string; valueOf: (measurement: M) => number; hasFit?: boolean }

/** Returns a table in Markdown whose first row is its header. */
export function markdownTable([header = [], ...rows]: string[][]): string {
  const format = (cells: string[]) => `| ${cells.join(' | ')} |`
  const rule = format(['---', ...header.slice(1).map(() => '--:')])
  return [format(header), rule, ...rows.map(format)].join('\n')
}

/** Returns the numbers of versions, as the header of a table. */
export const sizesOf = (measurements: { versions: number }[]): string[] => [
  '',
  ...measurements.map(({ versions }) => versions.toLocaleString('en')),
]

/** Returns a table with one column per measurement, and a line through the values of each row. */
export function tableOf<M extends { versions: number }>(measurements: M[], rows: Row<M>[]): string {
  const lines = rows.map(({ name, valueOf, hasFit }) => {
    const { base, perVersion } = fitLine(measurements.map((m) => [m.versions, valueOf(m)]))
    const fit = hasFit && measurements.length > 1 ? `${digits(base)} + ${digits(perVersion * 1000)} × n/1,000` : ''
    return [name, ...measurements.map((m) => digits(valueOf(m))), fit]
  })
  return markdownTable([[...sizesOf(measurements), 'fit (n versions)'], ...lines])
}

/** Adds measurements to those of earlier runs at other sizes in a file, and returns all of them by size. */
export function mergeMeasurements<M extends { versions: number }>(file: string, measured: M[]): M[] {
  const earlier = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as M[]) : []
  const byVersions = new Map([...earlier, ...measured].map((measurement) => [measurement.versions, measurement]))
  const measurements = [...byVersions.values()].toSorted((a, b) => a.versions - b.versions)
  writeFileSync(file, `${JSON.stringify(measurements, null, 2)}\n`)
  return measurements
}

/** Replaces the text between two lines of a page. @throws if the page lacks them */
export function replaceBetween(page: string, [first, last]: readonly [string, string], text: string): void {
  const old = readFileSync(page, 'utf8')
  const [begin, end] = [old.indexOf(first), old.indexOf(last)]
  if (begin < 0 || end < begin) throw new Error(`${page} lacks the lines ${first} and ${last}`)
  writeFileSync(page, `${old.slice(0, begin)}${first}\n\n${text}\n\n${old.slice(end)}`)
}
