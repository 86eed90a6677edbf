import {
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type RefObject,
} from 'react'
import type { LogWindow } from '../feed/log-window.ts'
import { indexAt, offsetOf, rowPx, type ExpandedRow } from './row-layout.ts'

const overscan = 8
/** Within this distance the view counts as at the end. */
const atEndPx = 4

export type Order = 'asc' | 'desc'

type VirtualRowsOptions = {
  scroller: RefObject<HTMLElement | null>
  window: LogWindow
  order: Order
  /** Keep the view at the newest line. */
  isFollowing: boolean
  onFollow: (isFollowing: boolean) => void
}

/**
 * Which rows to draw. Closed rows have one height, so only open ones are measured. The visible lines keep their
 * position while lines are added and removed before them.
 */
export function useVirtualRows({ scroller, window, order, isFollowing, onFollow }: VirtualRowsOptions) {
  const count = window.lines.length
  const [heights, setHeights] = useState<ReadonlyMap<number, number>>(new Map())
  const [viewport, setViewport] = useState({ topPx: 0, viewPx: 0 })
  const anchor = useRef({ number: 0, withinPx: 0 })
  const lastTopPx = useRef(0)

  const indexOf = (number: number) => (order === 'asc' ? number - window.first : window.first + count - 1 - number)
  const numberAt = (index: number) => (order === 'asc' ? window.first + index : window.first + count - 1 - index)

  const expandedRows = useMemo(() => {
    const expanded: ExpandedRow[] = []
    for (const [number, px] of heights) {
      const index = order === 'asc' ? number - window.first : window.first + count - 1 - number
      if (index >= 0 && index < count) expanded.push({ index, px })
    }
    return expanded.sort((a, b) => a.index - b.index)
  }, [heights, window.first, count, order])
  const totalPx = offsetOf(count, expandedRows)

  const measure = () => {
    const box = scroller.current
    if (!box) return
    const index = indexAt(box.scrollTop, count, expandedRows)
    anchor.current = { number: numberAt(index), withinPx: box.scrollTop - offsetOf(index, expandedRows) }
    lastTopPx.current = box.scrollTop
    setViewport((before) =>
      before.topPx === box.scrollTop && before.viewPx === box.clientHeight
        ? before
        : { topPx: box.scrollTop, viewPx: box.clientHeight },
    )
  }

  const restoreScroll = () => {
    const box = scroller.current
    if (!box) return
    if (isFollowing) box.scrollTop = order === 'asc' ? totalPx : 0
    else box.scrollTop = offsetOf(indexOf(anchor.current.number), expandedRows) + anchor.current.withinPx
    measure()
  }
  // eslint-disable-next-line react-hooks/exhaustive-deps -- only after changes that move rows
  useLayoutEffect(restoreScroll, [window, expandedRows, order, isFollowing])
  const resized = useEffectEvent(restoreScroll)
  useEffect(() => {
    if (!scroller.current) return undefined
    const observer = new ResizeObserver(() => resized())
    observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [scroller])

  const onScroll = () => {
    const box = scroller.current
    if (!box) return
    const movedPx = (box.scrollTop - lastTopPx.current) * (order === 'asc' ? 1 : -1)
    const fromEndPx = order === 'asc' ? box.scrollHeight - box.clientHeight - box.scrollTop : box.scrollTop
    measure()
    if (fromEndPx <= atEndPx && movedPx > 0) onFollow(true)
    else if (fromEndPx > atEndPx && movedPx < 0) onFollow(false)
  }

  const setHeight = useCallback((number: number, px: number | null) => {
    setHeights((before) => {
      if (px === null ? !before.has(number) : before.get(number) === px) return before
      const after = new Map(before)
      if (px === null) after.delete(number)
      else after.set(number, px)
      return after
    })
  }, [])

  const scrollToNumber = (number: number) => {
    const box = scroller.current
    if (!box) return
    anchor.current = { number, withinPx: -(box.clientHeight - rowPx) / 3 }
    box.scrollTop = offsetOf(indexOf(number), expandedRows) + anchor.current.withinPx
    measure()
  }

  const start = Math.max(0, indexAt(viewport.topPx, count, expandedRows) - overscan)
  const end = Math.min(count, indexAt(viewport.topPx + viewport.viewPx, count, expandedRows) + 1 + overscan)
  const last = count - 1
  return {
    /** The visible rows in display order, with the numbers of their lines. */
    visible: Array.from({ length: Math.max(0, end - start) }, (_, i) => ({
      index: start + i,
      number: numberAt(start + i),
    })),
    beforePx: offsetOf(start, expandedRows),
    totalPx,
    /** Rows between the visible ones and each end. */
    rowsToOlder: order === 'asc' ? start : last - end,
    rowsToNewer: order === 'asc' ? last - end : start,
    isOpen: (number: number) => heights.has(number),
    setHeight,
    onScroll,
    scrollToNumber,
  }
}
