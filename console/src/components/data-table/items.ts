import type { Column, Sort } from './columns.ts'

/** A line of the table: a row, or the header of a group. */
export type Item<T> = { kind: 'row'; id: string; row: T } | { kind: 'group'; id: string; name: string; rows: T[] }

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

const compare = (a: string | number, b: string | number): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b))

/** Returns the rows in the given order; equal ones keep their order. Without a sort, or if its column is not sortable, the order is unchanged. */
export function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], sort: Sort | null): T[] {
  const sortBy = columns.find(({ id }) => id === sort?.column)?.sortBy
  if (!sort || !sortBy) return [...rows]
  const sign = sort.order === 'desc' ? -1 : 1
  return rows.toSorted((a, b) => sign * compare(sortBy(a), sortBy(b)))
}

/** The lines of the table: the rows, under the headers of their groups. Groups are in the order of their first rows, after those in `firstGroups`. */
export function itemsOf<T>(
  rows: readonly T[],
  idOf: (row: T) => string,
  groupOf?: (row: T) => string,
  firstGroups: readonly string[] = [],
): Item<T>[] {
  const toItem = (row: T): Item<T> => ({ kind: 'row', id: idOf(row), row })
  if (!groupOf) return rows.map(toItem)
  const groups = [...Map.groupBy(rows, groupOf)]
  const isFirst = ([name]: [string, T[]]) => firstGroups.includes(name)
  const ordered = [...groups.filter(isFirst), ...groups.filter((group) => !isFirst(group))]
  return ordered.flatMap(([name, members]): Item<T>[] => [
    { kind: 'group', id: `group:${name}`, name, rows: members },
    ...members.map(toItem),
  ])
}
