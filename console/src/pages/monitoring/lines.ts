import type { ChartData, Dash } from '../../components/chart/chart-data.ts'
import type { MonitoringResult, Line } from './result.ts'
import type { ChartSpec } from './charts.ts'
import type { ContainerType } from './filters.ts'
import { allTags } from './filters.ts'

/** A container of a version with its style, which is the same in all charts. */
export type LineStyle = Omit<Line, 'values'> & { color: number; dash?: Dash }

const colors = 6
const strokes: readonly (Dash | undefined)[] = [undefined, 'dashed', 'dotted', 'mixed']

/** All lines of all charts, sorted by version, then api, database and processors. */
export function lineStylesOf(results: readonly (MonitoringResult | undefined)[]): LineStyle[] {
  const lines = new Map(results.flatMap((result) => result?.series ?? []).map((line) => [line.id, line]))
  return [...lines.values()].toSorted(bySquidAndContainer).map(({ id, squid, container, tags }, at) => {
    const dash = strokes[Math.floor(at / colors) % strokes.length]
    return { id, squid, container, tags, color: (at % colors) + 1, ...(dash && { dash }) }
  })
}

const order: Record<Exclude<ContainerType, 'all'>, number> = { api: 0, db: 1, processor: 2 }

const names = new Intl.Collator('en', { numeric: true })

const bySquidAndContainer = (a: Line, b: Line): number =>
  names.compare(a.squid, b.squid) ||
  order[typeOf(a.container)] - order[typeOf(b.container)] ||
  names.compare(a.container, b.container)

/** A container that is neither an api replica nor the database is a processor. */
export function typeOf(container: string): Exclude<ContainerType, 'all'> {
  return /^api(-\d+)?$/.test(container) ? 'api' : container === 'db' ? 'db' : 'processor'
}

export type LineFilter = { type: ContainerType; tags: readonly string[] }

/** Containers of the type, of versions with any of the tags. */
export function filterLines(lines: readonly LineStyle[], { type, tags }: LineFilter): LineStyle[] {
  return lines.filter(
    ({ container, tags: ownTags }) =>
      (type === 'all' || typeOf(container) === type) &&
      (tags.includes(allTags) || tags.some((tag) => ownTags.includes(tag))),
  )
}

/** The lines that `only` names: a version or one line; all lines if it matches none. */
export function filterToSelected(lines: readonly LineStyle[], only: string | undefined): readonly LineStyle[] {
  const named = lines.filter(({ id, squid }) => id === only || squid === only)
  return named.length > 0 ? named : lines
}

/** The data of one chart: the shown lines, in the order and style of the legend. */
export function chartDataOf(
  { times, series, bucketSeconds, isLastOpen }: MonitoringResult,
  { kind, omitsIncompletePoint = false }: Pick<ChartSpec, 'kind' | 'omitsIncompletePoint'>,
  shown: readonly LineStyle[],
): ChartData {
  const valuesOf = new Map(series.map(({ id, values }) => [id, values]))
  const drawn = omitsIncompletePoint && isLastOpen ? times.length - 1 : times.length
  return {
    times,
    bucketSeconds,
    series: shown.flatMap(({ id, color, dash }) => {
      const values = valuesOf.get(id)?.map((value, at) => (at < drawn ? value : null))
      return values ? [{ label: id, kind, values, color, ...(dash && { dash }) }] : []
    }),
  }
}
