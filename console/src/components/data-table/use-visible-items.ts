import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useState, type RefObject } from 'react'
import type { Item } from './items.ts'

/** With fewer lines than this, rendering all of them is cheaper than virtualization. */
const minVirtualItems = 50
/** Estimated heights of lines that have not been drawn. */
const heightPx = { row: 40, group: 36 }
/** The number of lines to draw before and after the visible ones. */
const overscan = 12

/**
 * The items to draw, and the heights in pixels of the items before and after them. `measure` is a ref for each drawn line, because cells
 * may wrap, so the height of a line is only known when it has been drawn. `measure` is null while all lines are drawn.
 */
export function useVisibleItems<T>(items: readonly Item<T>[], table: RefObject<HTMLTableElement | null>) {
  const isVirtual = items.length >= minVirtualItems
  const [scrollMargin, setScrollMargin] = useState(0)
  const [rowPx, setRowPx] = useState(heightPx.row)

  useLayoutEffect(() => {
    if (table.current) setScrollMargin(table.current.getBoundingClientRect().top + window.scrollY)
  }, [table, isVirtual])

  const virtualizer = useWindowVirtualizer({
    count: items.length,
    enabled: isVirtual,
    estimateSize: (index) => (items[index]?.kind === 'group' ? heightPx.group : rowPx),
    getItemKey: (index) => items[index]?.id ?? index,
    overscan,
    scrollMargin,
  })
  const virtualItems = virtualizer.getVirtualItems()
  // The virtualizer draws the first rows only after it has measured the window.
  const hasDrawnRows = virtualItems.length > 0
  useLayoutEffect(() => {
    // Estimates the height of other rows from the visible ones, so that the scroll bar barely moves when they are measured.
    const rows = isVirtual ? [...(table.current?.querySelectorAll<HTMLElement>('[data-row]') ?? [])] : []
    const totalPx = rows.reduce((sum, { offsetHeight }) => sum + offsetHeight, 0)
    if (rows.length > 0) setRowPx(Math.round(totalPx / rows.length))
  }, [table, isVirtual, items.length, hasDrawnRows])

  if (!isVirtual)
    return { visible: items.map((item, index) => ({ item, index })), beforePx: 0, afterPx: 0, measure: null }
  return {
    visible: virtualItems.flatMap(({ index }) => {
      const item = items[index]
      return item ? [{ item, index }] : []
    }),
    beforePx: (virtualItems[0]?.start ?? scrollMargin) - scrollMargin,
    afterPx: virtualizer.getTotalSize() - ((virtualItems.at(-1)?.end ?? scrollMargin) - scrollMargin),
    measure: virtualizer.measureElement,
  }
}
