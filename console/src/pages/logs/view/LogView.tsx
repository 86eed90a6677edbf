import { ArrowDown, ArrowUp } from 'lucide-react'
import {
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
  type ComponentProps,
  type MouseEvent,
  type RefObject,
} from 'react'
import { copyWithToast } from '../../../components/copy-with-toast.ts'
import { cx } from '../../../ui/classes.ts'
import type { FeedState, LogFeed } from '../feed/log-feed.ts'
import { useDisplay } from './display.ts'
import { plainLine } from './line-text.ts'
import { hideContainerClass, LogRow, rowGrid } from './LogRow.tsx'
import { NewLines } from './NewLines.tsx'
import { useVirtualRows, type Order } from './use-virtual-rows.ts'

/** More lines are loaded when fewer rows than this remain above or below. */
const loadAheadRows = 60

type Props = {
  feed: LogFeed
  state: FeedState
  order: Order
  onOrderChange: (order: Order) => void
  search: string
  /** Id of the line that the URL links to. */
  target: string | undefined
  getLink: (id: string) => string
  /** Shows the lines around this one, regardless of the filters. */
  onShowContext: (id: string) => void
  isFollowing: boolean
  onFollowingChange: (isFollowing: boolean) => void
  onResume: () => void
}

/** The table of log lines. */
export function LogView(props: Props) {
  const { feed, state, order, onOrderChange, search, target, getLink, isFollowing, onFollowingChange, onResume } = props
  const { isWrapped, isUtc } = useDisplay()
  const scroller = useRef<HTMLDivElement>(null)
  const { window: logWindow, loading, live } = state
  const rows = useVirtualRows({ scroller, window: logWindow, order, isWrapped, isFollowing, onFollowingChange })
  useLoadMore(feed, state, rows)
  useScrollToTarget(state, target, rows.scrollToNumber, onFollowingChange)
  const [hovered, setHovered] = useState<number | null>(null)
  const lineAt = (number: number) => logWindow.lines[number - logWindow.first]

  const runRowAction = (event: MouseEvent<HTMLElement>) => {
    const act = (event.target as HTMLElement).closest<HTMLElement>('[data-act]')?.dataset['act']
    const number = numberOf(event)
    const entry = number === null ? undefined : lineAt(number)
    if (!act || !entry || number === null) return
    if (act === 'copy') void copyWithToast(plainLine(entry), 'Line copied')
    if (act === 'link') void copyWithToast(getLink(entry.id), 'Link copied')
    if (act === 'context') props.onShowContext(entry.id)
    if (act === 'toggle') {
      rows.toggleOpen(number)
      onFollowingChange(false)
    }
  }
  const Arrow = order === 'asc' ? ArrowUp : ArrowDown
  return (
    <div className="relative">
      <div
        role="table"
        aria-label="Log lines"
        aria-rowcount={logWindow.lines.length + 1}
        className="overflow-hidden rounded-lg border border-line bg-subtle font-mono text-code leading-5.5"
      >
        <div role="rowgroup">
          <div
            role="row"
            aria-rowindex={1}
            className={cx(rowGrid, 'border-b border-l-2 border-line border-l-transparent font-sans text-xs text-ink-2')}
          >
            <span role="columnheader" aria-sort={order === 'asc' ? 'ascending' : 'descending'} className="leading-8">
              <button
                type="button"
                onClick={() => onOrderChange(order === 'asc' ? 'desc' : 'asc')}
                className="inline-flex items-center gap-1 font-medium hover:text-ink"
              >
                {isUtc ? 'Timestamp, UTC' : 'Timestamp'} <Arrow size={12} aria-hidden />
              </button>
            </span>
            <span role="columnheader" className="leading-8 font-medium">
              Level
            </span>
            <span role="columnheader" className={cx('leading-8 font-medium', hideContainerClass)}>
              Container
            </span>
            <span role="columnheader" className="pl-5 leading-8 font-medium max-xs:sr-only">
              Message
            </span>
          </div>
        </div>
        <Scroller
          elementRef={scroller}
          onScroll={rows.onScroll}
          onClick={runRowAction}
          onPointerOver={(event) => setHovered(numberOf(event))}
          onPointerLeave={() => setHovered(null)}
        >
          <div role="presentation" style={{ height: rows.totalPx, paddingTop: rows.beforePx, boxSizing: 'border-box' }}>
            {rows.visible.map(({ index, number }) => {
              const entry = lineAt(number)
              return (
                entry && (
                  <LogRow
                    key={number}
                    entry={entry}
                    number={number}
                    rowIndex={index + 2}
                    search={search}
                    isOpen={rows.isOpen(number)}
                    isTarget={entry.id === target}
                    isHovered={number === hovered}
                    isWrapped={isWrapped}
                    isUtc={isUtc}
                    rowPx={rows.rowPx}
                    onResize={rows.setHeight}
                  />
                )
              )
            })}
          </div>
        </Scroller>
      </div>
      {loading && (
        <div
          role="status"
          className={cx(
            'absolute left-1/2 -translate-x-1/2 rounded-full border border-line bg-canvas px-3 py-0.5 text-xs text-ink-2',
            (loading === 'older') === (order === 'asc') ? 'top-10' : 'bottom-3',
          )}
        >
          Loading
        </div>
      )}
      <NewLines
        nextNumber={logWindow.first + logWindow.lines.length}
        isFollowing={isFollowing}
        isEndUnloaded={live === 'overflowed' || logWindow.newer !== null}
        order={order}
        onPress={onResume}
      />
    </div>
  )
}

function numberOf(event: MouseEvent<HTMLElement>): number | null {
  const text = (event.target as HTMLElement).closest<HTMLElement>('[data-number]')?.dataset['number']
  return text === undefined ? null : Number(text)
}

/** Space below the lines: the table's border and the page's padding. */
const bottomSpacePx = 25

/** The scrollable part of the table, which fills the remaining height of the screen. */
function Scroller({ elementRef, ...rest }: { elementRef: RefObject<HTMLDivElement | null> } & ComponentProps<'div'>) {
  const [topPx, setTopPx] = useState(300)
  useLayoutEffect(() => {
    const measure = () =>
      elementRef.current && setTopPx(elementRef.current.getBoundingClientRect().top + window.scrollY)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [elementRef])
  return (
    <div
      {...rest}
      ref={elementRef}
      role="rowgroup"
      tabIndex={0}
      aria-label="Lines"
      className="min-h-60 overflow-x-hidden overflow-y-auto [overflow-anchor:none] focus-visible:-outline-offset-2"
      style={{ height: `calc(100dvh - ${topPx + bottomSpacePx}px)` }}
    />
  )
}

type RemainingRows = { rowsToOlder: number; rowsToNewer: number }

/** Loads more lines before the user reaches the first or the last loaded one. */
function useLoadMore(
  feed: LogFeed,
  { window: logWindow, loading, status, pageError }: FeedState,
  rows: RemainingRows,
): void {
  const isIdle = status === 'ready' && loading === null && pageError === null
  const shouldLoadOlder = isIdle && logWindow.older !== null && rows.rowsToOlder < loadAheadRows
  const shouldLoadNewer = isIdle && logWindow.newer !== null && rows.rowsToNewer < loadAheadRows
  useEffect(() => {
    if (shouldLoadOlder) feed.loadOlder()
    else if (shouldLoadNewer) feed.loadNewer()
  }, [feed, shouldLoadOlder, shouldLoadNewer, logWindow])
}

/** Scrolls to the line that the URL links to, once. */
function useScrollToTarget(
  { status, window: logWindow }: FeedState,
  target: string | undefined,
  scrollToNumber: (number: number) => void,
  onFollowingChange: (isFollowing: boolean) => void,
): void {
  const scrolledTo = useRef<string | undefined>(undefined)
  const scrollToLine = useEffectEvent((id: string) => {
    const index = logWindow.lines.findIndex((line) => line.id === id)
    if (index < 0) return
    onFollowingChange(false)
    scrollToNumber(logWindow.first + index)
  })
  useLayoutEffect(() => {
    if (status !== 'ready' || target === undefined || scrolledTo.current === target) return
    scrolledTo.current = target
    scrollToLine(target)
  }, [status, target])
}
