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
import { toast } from '../../../lib/toasts.ts'
import { cx } from '../../../ui/classes.ts'
import type { FeedState, LogFeed } from '../feed/log-feed.ts'
import { plainLine } from './line-text.ts'
import { hideContainerClass, hideLevelClass, LogRow, rowGrid } from './LogRow.tsx'
import { NewLines } from './NewLines.tsx'
import { useVirtualRows, type Order } from './use-virtual-rows.ts'

/** Load more when fewer rows than this remain in a direction. */
const loadAheadRows = 60

type Props = {
  feed: LogFeed
  state: FeedState
  order: Order
  onOrder: (order: Order) => void
  search: string
  /** Id of the line that the URL links to. */
  target: string | undefined
  linkOf: (id: string) => string
  isFollowing: boolean
  onFollow: (isFollowing: boolean) => void
  onResume: () => void
}

/** The lines, in a box that fills the rest of the screen. */
export function LogView(props: Props) {
  const { feed, state, order, onOrder, search, target, linkOf, isFollowing, onFollow, onResume } = props
  const scroller = useRef<HTMLDivElement>(null)
  const { window: logWindow, loading, live } = state
  const rows = useVirtualRows({ scroller, window: logWindow, order, isFollowing, onFollow })
  useLoadMore(feed, state, rows)
  useTarget(state, target, rows.scrollToNumber, onFollow)
  const [hovered, setHovered] = useState<number | null>(null)
  const lineAt = (number: number) => logWindow.lines[number - logWindow.first]

  const press = (event: MouseEvent<HTMLElement>) => {
    const act = (event.target as HTMLElement).closest<HTMLElement>('[data-act]')?.dataset['act']
    const number = numberOf(event)
    const entry = number === null ? undefined : lineAt(number)
    if (!act || !entry || number === null) return
    if (act === 'copy') copyText(plainLine(entry), 'Line copied')
    if (act === 'link') copyText(linkOf(entry.id), 'Link copied')
    if (act === 'toggle') {
      rows.setHeight(number, rows.isOpen(number) ? null : 0)
      onFollow(false)
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
                onClick={() => onOrder(order === 'asc' ? 'desc' : 'asc')}
                className="inline-flex items-center gap-1 font-medium hover:text-ink"
              >
                Timestamp <Arrow size={12} aria-hidden />
              </button>
            </span>
            <span role="columnheader" className={cx('leading-8 font-medium', hideLevelClass)}>
              Level
            </span>
            <span role="columnheader" className={cx('leading-8 font-medium', hideContainerClass)}>
              Container
            </span>
            <span role="columnheader" className="pl-5 leading-8 font-medium">
              Message
            </span>
          </div>
        </div>
        <Scroller
          boxRef={scroller}
          onScroll={rows.onScroll}
          onClick={press}
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
        last={logWindow.first + logWindow.lines.length}
        isFollowing={isFollowing}
        isFar={live === 'cut' || logWindow.newer !== null}
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

function copyText(text: string, done: string): void {
  void navigator.clipboard.writeText(text).then(() => toast({ tone: 'good', title: done }))
}

/** Space below the lines: the table's border and the page's padding. */
const bottomSpacePx = 25

/** Fills the remaining height of the screen. */
function Scroller({ boxRef, ...rest }: { boxRef: RefObject<HTMLDivElement | null> } & ComponentProps<'div'>) {
  const [topPx, setTopPx] = useState(300)
  useLayoutEffect(() => {
    const measure = () => boxRef.current && setTopPx(boxRef.current.getBoundingClientRect().top + window.scrollY)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    return () => observer.disconnect()
  }, [boxRef])
  return (
    <div
      {...rest}
      ref={boxRef}
      role="rowgroup"
      tabIndex={0}
      aria-label="Lines"
      className="min-h-60 overflow-x-hidden overflow-y-auto [overflow-anchor:none] focus-visible:-outline-offset-2"
      style={{ height: `calc(100dvh - ${topPx + bottomSpacePx}px)` }}
    />
  )
}

type RowsLeft = { rowsToOlder: number; rowsToNewer: number }

/** Loads more lines before the user reaches an edge. */
function useLoadMore(
  feed: LogFeed,
  { window: logWindow, loading, status, pageError }: FeedState,
  rows: RowsLeft,
): void {
  const isIdle = status === 'ready' && loading === null && pageError === null
  const wantsOlder = isIdle && logWindow.older !== null && rows.rowsToOlder < loadAheadRows
  const wantsNewer = isIdle && logWindow.newer !== null && rows.rowsToNewer < loadAheadRows
  useEffect(() => {
    if (wantsOlder) feed.loadOlder()
    else if (wantsNewer) feed.loadNewer()
  }, [feed, wantsOlder, wantsNewer, logWindow])
}

/** Scrolls to the line that the URL links to, once. */
function useTarget(
  { status, window: logWindow }: FeedState,
  target: string | undefined,
  scrollToNumber: (number: number) => void,
  onFollow: (isFollowing: boolean) => void,
): void {
  const shown = useRef<string | undefined>(undefined)
  const show = useEffectEvent((id: string) => {
    const index = logWindow.lines.findIndex((line) => line.id === id)
    if (index < 0) return
    onFollow(false)
    scrollToNumber(logWindow.first + index)
  })
  useLayoutEffect(() => {
    if (status !== 'ready' || target === undefined || shown.current === target) return
    shown.current = target
    show(target)
  }, [status, target])
}
