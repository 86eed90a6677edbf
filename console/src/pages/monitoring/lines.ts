import type { ChartData, Dash } from '../../components/chart/chart-data.ts'
import type { MonitoringResult, Line } from './result.ts'
import type { ChartSpec } from './charts.ts'
import type { ContainerType } from './filters.ts'
import { allTags } from './filters.ts'

/** The line of a container of a version. The style of the line is the same in all charts. */
export type LineStyle = Omit<Line, 'values'> & { color: number; dash?: Dash }

const colorCount = 6
const dashes: readonly (Dash | undefined)[] = [undefined, 'dashed', 'dotted', 'mixed']

/** All lines of all charts, sorted by version, and within a version in the order api, Hasura, database, processors. */
export function lineStylesOf(results: readonly (MonitoringResult | undefined)[]): LineStyle[] {
  const lines = new Map(results.flatMap((result) => result?.series ?? []).map((line) => [line.id, line]))
  return [...lines.values()].toSorted(bySquidAndContainer).map(({ id, squid, container, tags }, index) => {
    const dash = dashes[Math.floor(index / colorCount) % dashes.length]
    return { id, squid, container, tags, color: (index % colorCount) + 1, ...(dash && { dash }) }
  })
}

/** The types of containers. There is no filter for those of Hasura. */
type LineType = Exclude<ContainerType, 'all'> | 'hasura'

const typeOrder: Record<LineType, number> = { api: 0, hasura: 1, db: 2, processor: 3 }

const nameCollator = new Intl.Collator('en', { numeric: true })

const bySquidAndContainer = (a: Line, b: Line): number =>
  nameCollator.compare(a.squid, b.squid) ||
  typeOrder[typeOf(a.container)] - typeOrder[typeOf(b.container)] ||
  nameCollator.compare(a.container, b.container)

/** The type of a container with this name. A container that is neither a replica of the api or of Hasura nor the database is a processor. */
export function typeOf(container: string): LineType {
  if (/^api(-\d+)?$/.test(container)) return 'api'
  if (/^hasura(-\d+)?$/.test(container)) return 'hasura'
  return container === 'db' ? 'db' : 'processor'
}

export type LineFilter = { type: ContainerType; tags: readonly string[] }

/** The lines of containers of this type, in versions that have any of the tags. */
export function filterLines(lines: readonly LineStyle[], { type, tags }: LineFilter): LineStyle[] {
  return lines.filter(
    ({ container, tags: ownTags }) =>
      (type === 'all' || typeOf(container) === type) &&
      (tags.includes(allTags) || tags.some((tag) => ownTags.includes(tag))),
  )
}

/** The lines of the version, or the one line, that `only` identifies; all lines if it matches none. */
export function filterToSelected(lines: readonly LineStyle[], only: string | undefined): readonly LineStyle[] {
  const selected = lines.filter(({ id, squid }) => id === only || squid === only)
  return selected.length > 0 ? selected : lines
}

/** The data of one chart: the shown lines, in the order and style of the legend. */
export function chartDataOf(
  { times, series, bucketSeconds, isLastIncomplete }: MonitoringResult,
  { kind, omitsIncompletePoint = false }: Pick<ChartSpec, 'kind' | 'omitsIncompletePoint'>,
  shownLines: readonly LineStyle[],
): ChartData {
  const valuesById = new Map(series.map(({ id, values }) => [id, values]))
  const drawnCount = omitsIncompletePoint && isLastIncomplete ? times.length - 1 : times.length
  return {
    times,
    bucketSeconds,
    series: shownLines.flatMap(({ id, color, dash }) => {
      const values = valuesById.get(id)?.map((value, index) => (index < drawnCount ? value : null))
      return values ? [{ label: id, kind, values, color, ...(dash && { dash }) }] : []
    }),
  }
}

/** The time, in Unix seconds, of the first value other than zero on the shown lines of all charts; null if there is none. */
export function firstValueAt(
  results: readonly (MonitoringResult | undefined)[],
  shownLines: readonly LineStyle[],
): number | null {
  const ids = new Set(shownLines.map(({ id }) => id))
  const starts = results.flatMap((result) =>
    (result?.series ?? []).flatMap(({ id, values }) => {
      // Zero does not count as data: the crash counts are zero even before a version exists.
      const index = ids.has(id) ? values.findIndex((value) => value !== null && value !== 0) : -1
      return index < 0 ? [] : [result?.times[index] ?? Infinity]
    }),
  )
  return starts.length === 0 ? null : Math.min(...starts)
}
