import { createTable, getCoreRowModel, getSortedRowModel, type ColumnDef, type SortingFn } from '@tanstack/react-table'
import type { Column, Sort } from './columns.ts'

/** A line of the table: a row, or the header of a group. */
export type Item<T> = { kind: 'row'; id: string; row: T } | { kind: 'group'; id: string; name: string; rows: T[] }

const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' })

const byValue: SortingFn<unknown> = (a, b, columnId) => {
  const [x, y] = [a.getValue(columnId), b.getValue(columnId)]
  return typeof x === 'number' && typeof y === 'number' ? x - y : collator.compare(String(x), String(y))
}

/** Sorts the rows; equal ones keep their order. */
export function sorted<T>(rows: readonly T[], columns: readonly Column<T>[], sort: Sort | null): T[] {
  const sortBy = columns.find(({ id }) => id === sort?.column)?.sortBy
  if (!sort || !sortBy) return [...rows]
  const column: ColumnDef<T> = { id: sort.column, accessorFn: sortBy, sortingFn: byValue as SortingFn<T> }
  const table = createTable<T>({
    data: [...rows],
    columns: [column],
    getCoreRowModel: getCoreRowModel(),
    getSortedRowModel: getSortedRowModel(),
    state: { sorting: [{ id: sort.column, desc: sort.order === 'desc' }] },
    onStateChange: () => {},
    renderFallbackValue: null,
  })
  return table.getRowModel().rows.map(({ original }) => original)
}

/** Adds group headers, in the order of the first row of each group. */
export function itemsOf<T>(rows: readonly T[], idOf: (row: T) => string, groupOf?: (row: T) => string): Item<T>[] {
  const toItem = (row: T): Item<T> => ({ kind: 'row', id: idOf(row), row })
  if (!groupOf) return rows.map(toItem)
  return [...Map.groupBy(rows, groupOf)].flatMap(([name, members]): Item<T>[] => [
    { kind: 'group', id: `group:${name}`, name, rows: members },
    ...members.map(toItem),
  ])
}
