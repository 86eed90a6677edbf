import {
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type RefObject,
} from 'react'
import type { LogWindow } from '../feed/log-window.ts'
import { expandedRowsOf, indexAt, offsetOf, rowHeights } from './row-layout.ts'

/** The number of rows to render above and below the visible ones. */
const overscanRows = 8
/** The view counts as scrolled to the newest line if it is at most this far from it. */
const atEndPx = 4

/** Matches on screens narrower than the breakpoint `xs`, on which a row has two lines. */
const phone = matchMedia('(max-width: 599.98px)')

function onPhoneChange(listener: () => void): () => void {
  phone.addEventListener('change', listener)
  return () => phone.removeEventListener('change', listener)
}

export type Order = 'asc' | 'desc'

type VirtualRowsOptions = {
  scroller: RefObject<HTMLElement | null>
  window: LogWindow
  order: Order
  /** Whether rows show all lines of their text, so that their heights differ. */
  isWrapped: boolean
  /** Whether the view stays at the newest line. */
  isFollowing: boolean
  onFollowingChange: (isFollowing: boolean) => void
}

/** The additional heights of rows by line number, valid for this setting of `isWrapped`. */
type Heights = { isWrapped: boolean; pxOf: ReadonlyMap<number, number> }
const noHeights: Heights['pxOf'] = new Map()

/**
 * Computes which rows to render. Collapsed rows have a fixed height, so only expanded and wrapped ones are measured, when
 * they are rendered. The visible lines keep their position when lines are added or removed above them.
 */
export function useVirtualRows(options: VirtualRowsOptions) {
  const { scroller, window, order, isWrapped, isFollowing, onFollowingChange } = options
  const count = window.lines.length
  const rowPx = useSyncExternalStore(onPhoneChange, () => (phone.matches ? rowHeights.phone : rowHeights.wide))
  const [measured, setMeasured] = useState<Heights>({ isWrapped, pxOf: noHeights })
  const heights = measured.isWrapped === isWrapped ? measured.pxOf : noHeights
  const [openNumbers, setOpenNumbers] = useState<ReadonlySet<number>>(new Set())
  const [viewport, setViewport] = useState({ topPx: 0, viewPx: 0 })
  const anchor = useRef({ number: 0, withinPx: 0 })
  const lastTopPx = useRef(0)

  const indexOf = (number: number) => (order === 'asc' ? number - window.first : window.first + count - 1 - number)
  const numberAt = (index: number) => (order === 'asc' ? window.first + index : window.first + count - 1 - index)

  const expandedRows = useMemo(() => {
    const expanded: { index: number; px: number }[] = []
    for (const [number, px] of heights) {
      const index = order === 'asc' ? number - window.first : window.first + count - 1 - number
      if (index >= 0 && index < count) expanded.push({ index, px })
    }
    return expandedRowsOf(expanded)
  }, [heights, window.first, count, order])
  const totalPx = offsetOf(count, rowPx, expandedRows)

  const measure = () => {
    const element = scroller.current
    if (!element) return
    const index = indexAt(element.scrollTop, count, rowPx, expandedRows)
    anchor.current = { number: numberAt(index), withinPx: element.scrollTop - offsetOf(index, rowPx, expandedRows) }
    lastTopPx.current = element.scrollTop
    setViewport((current) =>
      current.topPx === element.scrollTop && current.viewPx === element.clientHeight
        ? current
        : { topPx: element.scrollTop, viewPx: element.clientHeight },
    )
  }

  const restoreScroll = () => {
    const element = scroller.current
    if (!element) return
    if (isFollowing) element.scrollTop = order === 'asc' ? totalPx : 0
    else element.scrollTop = offsetOf(indexOf(anchor.current.number), rowPx, expandedRows) + anchor.current.withinPx
    measure()
  }
  // eslint-disable-next-line react-hooks/exhaustive-deps -- runs only after changes that move rows
  useLayoutEffect(restoreScroll, [window, expandedRows, order, isFollowing, rowPx])
  const restoreAfterResize = useEffectEvent(restoreScroll)
  useEffect(() => {
    if (!scroller.current) return undefined
    const observer = new ResizeObserver(() => restoreAfterResize())
    observer.observe(scroller.current)
    return () => observer.disconnect()
  }, [scroller])

  const onScroll = () => {
    const element = scroller.current
    if (!element) return
    const movedPx = (element.scrollTop - lastTopPx.current) * (order === 'asc' ? 1 : -1)
    const fromEndPx =
      order === 'asc' ? element.scrollHeight - element.clientHeight - element.scrollTop : element.scrollTop
    measure()
    if (fromEndPx <= atEndPx && movedPx > 0) onFollowingChange(true)
    else if (fromEndPx > atEndPx && movedPx < 0) onFollowingChange(false)
  }

  const setHeight = useCallback(
    (number: number, px: number) =>
      setMeasured((current) => {
        const pxOf = current.isWrapped === isWrapped ? current.pxOf : noHeights
        if ((pxOf.get(number) ?? 0) === px) return current
        const next = new Map(pxOf)
        if (px === 0) next.delete(number)
        else next.set(number, px)
        return { isWrapped, pxOf: next }
      }),
    [isWrapped],
  )
  const toggleOpen = (number: number) => {
    setOpenNumbers((current) => current.symmetricDifference(new Set([number])))
    setHeight(number, 0)
  }

  const scrollToNumber = (number: number) => {
    const element = scroller.current
    if (!element) return
    anchor.current = { number, withinPx: -(element.clientHeight - rowPx) / 3 }
    element.scrollTop = offsetOf(indexOf(number), rowPx, expandedRows) + anchor.current.withinPx
    measure()
  }

  const start = Math.max(0, indexAt(viewport.topPx, count, rowPx, expandedRows) - overscanRows)
  const end = Math.min(count, indexAt(viewport.topPx + viewport.viewPx, count, rowPx, expandedRows) + 1 + overscanRows)
  return {
    /** The height of a collapsed row. */
    rowPx,
    /** The visible rows in display order, with the numbers of their lines. */
    visible: Array.from({ length: Math.max(0, end - start) }, (_, i) => ({
      index: start + i,
      number: numberAt(start + i),
    })),
    beforePx: offsetOf(start, rowPx, expandedRows),
    totalPx,
    /** The number of rows between the visible ones and the oldest or newest loaded line. */
    rowsToOlder: order === 'asc' ? start : count - end,
    rowsToNewer: order === 'asc' ? count - end : start,
    isOpen: (number: number) => openNumbers.has(number),
    toggleOpen,
    setHeight,
    onScroll,
    scrollToNumber,
  }
}
