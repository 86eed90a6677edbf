import type { ReactNode } from 'react'

/** The breakpoint below which a column is hidden; name and status are always visible (frontend.md 4). */
export type HideBelow = 'xs' | 'sm' | 'md' | 'lg'

export type Column<T> = {
  id: string
  header: string
  /** On hover of the header. */
  headerTip?: string
  cell: (row: T) => ReactNode
  /** What sorting compares; a column without it cannot be sorted. */
  sortBy?: (row: T) => string | number
  /** Right-aligned, in figures of one width. */
  isNumber?: boolean
  hideBelow?: HideBelow
  /** CSS width; the rest is shared by the columns without one. */
  width?: string
}

export type Sort = { column: string; order: 'asc' | 'desc' }

export const hideBelowClass: Record<HideBelow, string> = {
  xs: 'max-xs:hidden',
  sm: 'max-sm:hidden',
  md: 'max-md:hidden',
  lg: 'max-lg:hidden',
}

/** Another press on the same header turns it around. */
export const nextSort = (current: Sort | null, column: string): Sort => ({
  column,
  order: current?.column === column && current.order === 'asc' ? 'desc' : 'asc',
})
