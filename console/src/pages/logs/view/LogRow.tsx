import { gapContainer, type LogEntry } from '@shoal/contract'
import { Copy, Link2 } from 'lucide-react'
import { memo, useEffectEvent, useLayoutEffect, useRef, type ReactNode } from 'react'
import { MarkedText } from '../../../components/MarkedText.tsx'
import { formatDateTime } from '../../../lib/format.ts'
import { toneText } from '../../../ui/tones.ts'
import { cx } from '../../../ui/classes.ts'
import { levelTones } from '../filters.ts'
import { textOf } from './line-text.ts'
import { rowHeights } from './row-layout.ts'
import { LogDetail } from './LogDetail.tsx'

/** The column grid of the header and all rows. On phones the message is below the other columns. */
export const rowGrid =
  'grid grid-cols-[164px_76px_112px_minmax(0,1fr)] gap-x-3 px-3 max-sm:grid-cols-[164px_76px_minmax(0,1fr)] max-xs:grid-cols-[auto_auto_minmax(0,1fr)]'
/** The class of the cells with the container, which are hidden where the table is too narrow for their column. */
export const hideContainerClass = 'max-sm:hidden max-xs:inline'

type Props = {
  entry: LogEntry
  /** The number of the line in the window. */
  number: number
  /** The row index for screen readers; that of the header is 1. */
  rowIndex: number
  search: string
  isOpen: boolean
  /** Whether the URL links to this line. */
  isTarget: boolean
  /** Only the hovered row renders buttons, because scrolling creates thousands of rows. */
  isHovered: boolean
  /** Whether the message wraps. Otherwise the row shows its first line, truncated. */
  isWrapped: boolean
  isUtc: boolean
  rowPx: number
  /** Reports by how many pixels an expanded or wrapped row is higher than `rowPx`. */
  onResize: (number: number, px: number) => void
}

/** One log line. `LogView` handles the clicks on its buttons by their `data-act`. */
function Row(props: Props) {
  const { entry, rowIndex, rowPx } = props
  return entry.container === gapContainer ? <GapMarker {...{ entry, rowIndex, rowPx }} /> : <LineRow {...props} />
}

function LineRow(props: Props) {
  const { entry, number, rowIndex, search, isOpen, isTarget, isHovered, isWrapped, isUtc, rowPx } = props
  const element = useMeasured(props)
  const { ns, message, fields } = textOf(entry)
  const [firstLine = '', ...otherLines] = message.split('\n')
  const tone = levelTones[entry.level]
  return (
    <div
      ref={element}
      role="row"
      aria-rowindex={rowIndex}
      data-number={number}
      className={cx(
        'relative border-l-2',
        isTarget
          ? 'border-accent bg-accent-soft'
          : tone === 'bad'
            ? 'border-bad bg-bad-soft'
            : tone === 'warn'
              ? 'border-warn bg-warn-soft'
              : 'border-transparent hover:bg-muted',
      )}
    >
      <div className={rowGrid} style={isWrapped ? { minHeight: rowPx } : { height: rowPx }}>
        <span
          role="cell"
          className="truncate text-ink-2"
          data-tip={isUtc ? entry.timestamp : formatDateTime(entry.timestamp)}
        >
          <Time at={entry.timestamp} isUtc={isUtc} />
        </span>
        <span role="cell" className={cx(toneText[tone], 'truncate')}>
          {entry.level}
        </span>
        <span role="cell" className={cx('truncate text-ink-2', hideContainerClass)}>
          <MarkedText text={entry.container} search="" />
        </span>
        <span
          role="cell"
          className={cx('flex min-w-0 gap-1 max-xs:col-span-full', isWrapped ? 'items-baseline' : 'items-center')}
        >
          <button
            type="button"
            data-act="toggle"
            aria-expanded={isOpen}
            aria-label={`Whole line ${number}`}
            className="grid size-4 shrink-0 place-items-center rounded-sm text-ink-3 hover:text-ink focus-visible:-outline-offset-1"
          >
            <span aria-hidden className={cx('leading-4', isOpen && 'rotate-90')}>
              ›
            </span>
          </button>
          <span
            className={cx('min-w-0', isWrapped ? wrappedText : 'truncate whitespace-pre')}
            style={isWrapped ? { maxHeight: maxWrappedPx } : undefined}
          >
            {ns && (
              <span className="text-ink-2">
                <MarkedText text={ns} search={search} />{' '}
              </span>
            )}
            <MarkedText text={isWrapped ? message : firstLine} search={search} />
            {!isWrapped && otherLines.length > 0 && (
              <span className="text-ink-2"> ▸ {otherLines.length + 1} lines</span>
            )}
            {fields && (
              <span className="text-ink-2">
                {' '}
                <MarkedText text={JSON.stringify(fields)} search={search} />
              </span>
            )}
          </span>
        </span>
      </div>
      {isHovered && (
        <div role="cell" className="absolute top-0 right-1 flex gap-0.5 rounded-sm bg-canvas">
          <RowAction act="copy" label="Copy line" icon={<Copy size={13} aria-hidden />} />
          <RowAction act="link" label="Copy link to line" icon={<Link2 size={13} aria-hidden />} />
        </div>
      )}
      {isOpen && <LogDetail entry={entry} search={search} />}
    </div>
  )
}

/** The message of a line is cut after 40 rows, because it may have 256 KB; the details of the line show all of it. */
const wrappedText = 'overflow-hidden wrap-anywhere whitespace-pre-wrap'
const maxWrappedPx = 40 * rowHeights.wide

/** Measures a row while its height depends on its text. */
function useMeasured({ number, isOpen, isWrapped, rowPx, onResize }: Props) {
  const element = useRef<HTMLDivElement>(null)
  const isMeasured = isOpen || isWrapped
  const report = useEffectEvent(() => {
    if (element.current) onResize(number, Math.max(0, element.current.offsetHeight - rowPx))
  })
  useLayoutEffect(() => {
    if (!element.current || !isMeasured) return undefined
    report()
    const observer = new ResizeObserver(() => report())
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [isMeasured, isOpen, isWrapped])
  return element
}

/** Memoized, so that scrolling renders only new rows. */
export const LogRow = memo(Row)

function RowAction({ act, label, icon }: { act: string; label: string; icon: ReactNode }) {
  return (
    <button
      type="button"
      data-act={act}
      aria-label={label}
      data-tip={label}
      tabIndex={-1}
      className="grid size-5.5 place-items-center rounded-sm text-ink-3 hover:bg-muted hover:text-ink"
    >
      {icon}
    </button>
  )
}

/** Marks a gap where the server skipped lines because the client read too slowly. */
function GapMarker({ entry, rowIndex, rowPx }: Pick<Props, 'entry' | 'rowIndex' | 'rowPx'>) {
  return (
    <div
      role="row"
      aria-rowindex={rowIndex}
      style={{ height: rowPx }}
      className="flex items-center gap-3 px-3 font-sans text-xs text-warn before:h-px before:flex-1 before:bg-current before:opacity-40 after:h-px after:flex-1 after:bg-current after:opacity-40"
    >
      <span role="cell">{textOf(entry).message}</span>
    </div>
  )
}

/** `21.11 12:04:31.208`. Formatted without Intl, because scrolling renders thousands of rows per second. */
function Time({ at, isUtc }: { at: string; isUtc: boolean }) {
  const time = new Date(at)
  // The UTC fields of this date are the local time in the selected time zone.
  if (!isUtc) time.setTime(time.getTime() - time.getTimezoneOffset() * 60_000)
  const iso = time.toISOString()
  return (
    <time dateTime={at}>
      <span className="max-xs:hidden">
        {iso.slice(8, 10)}.{iso.slice(5, 7)}{' '}
      </span>
      {iso.slice(11, 23)}
    </time>
  )
}
