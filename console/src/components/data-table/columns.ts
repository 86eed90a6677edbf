import type { ReactNode } from 'react'

/** The breakpoint below which a column is hidden. Columns for the name and the status have none. */
export type HideBelow = 'xs' | 'sm' | 'md' | 'lg'

export type Column<T> = {
  id: string
  header: string
  /** Tooltip of the header. */
  headerTip?: string
  cell: (row: T) => ReactNode
  /** The value to sort by; without it the column is not sortable. */
  sortBy?: (row: T) => string | number
  /** The first click on the header shows the greatest values first. */
  isGreatestFirst?: boolean
  /** Numbers are right-aligned and have digits of equal width. */
  isNumber?: boolean
  hideBelow?: HideBelow
  /** CSS width; columns without one share the remaining width. */
  width?: string
  /** CSS width on phones and small windows, where `width` does not apply. */
  narrowWidth?: string
}

export type Sort<C extends string = string> = { column: C; order: 'asc' | 'desc' }

/** The class that hides a cell below a breakpoint. */
export const hideBelowClass: Record<HideBelow, string> = {
  xs: 'max-xs:hidden',
  sm: 'max-sm:hidden',
  md: 'max-md:hidden',
  lg: 'max-lg:hidden',
}

/** The sort order after a click on the header of `column`. A second click on the same header reverses the order. */
export function nextSort(current: Sort | null, column: Pick<Column<never>, 'id' | 'isGreatestFirst'>): Sort {
  const first = column.isGreatestFirst ? 'desc' : 'asc'
  const second = column.isGreatestFirst ? 'asc' : 'desc'
  return { column: column.id, order: current?.column === column.id && current.order === first ? second : first }
}
