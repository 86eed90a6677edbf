import type { ReactNode } from 'react'

/** The breakpoint below which a column is hidden; name and status are always visible. */
export type HideBelow = 'xs' | 'sm' | 'md' | 'lg'

export type Column<T> = {
  id: string
  header: string
  /** Tooltip of the header. */
  headerTip?: string
  cell: (row: T) => ReactNode
  /** The value to sort by; without it the column is not sortable. */
  sortBy?: (row: T) => string | number
  /** Numbers are right-aligned and have digits of equal width. */
  isNumber?: boolean
  hideBelow?: HideBelow
  /** CSS width; columns without one share the remaining width. */
  width?: string
  /** CSS width on phones and small windows, where `width` does not apply. */
  narrowWidth?: string
}

export type Sort = { column: string; order: 'asc' | 'desc' }

export const hideBelowClass: Record<HideBelow, string> = {
  xs: 'max-xs:hidden',
  sm: 'max-sm:hidden',
  md: 'max-md:hidden',
  lg: 'max-lg:hidden',
}

/** Clicking the same header again reverses the order. */
export const nextSort = (current: Sort | null, column: string): Sort => ({
  column,
  order: current?.column === column && current.order === 'asc' ? 'desc' : 'asc',
})
