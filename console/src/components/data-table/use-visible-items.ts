import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { useLayoutEffect, useState, type RefObject } from 'react'
import type { Item } from './items.ts'

/** Below this many lines rendering all is cheaper than virtualization. */
const minVirtualItems = 50
const heightPx = { row: 40, group: 36 }
const overscan = 12

/** The items to draw, and the heights of the items before and after them. */
export function useVisibleItems<T>(
  items: readonly Item<T>[],
  table: RefObject<HTMLTableElement | null>,
  canBeVirtual: boolean,
) {
  const isVirtual = canBeVirtual && items.length >= minVirtualItems
  const [scrollMargin, setScrollMargin] = useState(0)

  useLayoutEffect(() => {
    if (table.current) setScrollMargin(table.current.getBoundingClientRect().top + window.scrollY)
  }, [table, isVirtual])

  const virtualizer = useWindowVirtualizer({
    count: items.length,
    enabled: isVirtual,
    estimateSize: (index) => heightPx[items[index]?.kind ?? 'row'],
    getItemKey: (index) => items[index]?.id ?? index,
    overscan,
    scrollMargin,
  })

  if (!isVirtual) return { visible: items.map((item, index) => ({ item, index })), beforePx: 0, afterPx: 0 }
  const virtualItems = virtualizer.getVirtualItems()
  return {
    visible: virtualItems.flatMap(({ index }) => {
      const item = items[index]
      return item ? [{ item, index }] : []
    }),
    beforePx: (virtualItems[0]?.start ?? scrollMargin) - scrollMargin,
    afterPx: virtualizer.getTotalSize() - ((virtualItems.at(-1)?.end ?? scrollMargin) - scrollMargin),
  }
}
