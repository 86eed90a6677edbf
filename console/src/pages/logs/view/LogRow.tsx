import { gapContainer, type LogEntry } from '@shoal/contract'
import { Copy, Link2 } from 'lucide-react'
import { memo, type ReactNode } from 'react'
import { formatDateTime } from '../../../lib/format.ts'
import { toneText } from '../../../ui/tones.ts'
import { cx } from '../../../ui/classes.ts'
import { levelTones } from '../filters.ts'
import { splitAtMatches, textOf } from './line-text.ts'
import { LogDetail } from './LogDetail.tsx'

/** The column grid of the header and all rows. On phones the message is below the other columns. */
export const rowGrid =
  'grid grid-cols-[164px_76px_112px_minmax(0,1fr)] gap-x-3 px-3 max-sm:grid-cols-[164px_76px_minmax(0,1fr)] max-xs:grid-cols-[auto_auto_minmax(0,1fr)]'
export const hideContainerClass = 'max-sm:hidden max-xs:inline'

type Props = {
  entry: LogEntry
  number: number
  rowIndex: number
  search: string
  isOpen: boolean
  /** Whether the URL links to this line. */
  isTarget: boolean
  /** Only the hovered row renders buttons: scrolling creates thousands of rows. */
  isHovered: boolean
  rowPx: number
  onResize: (number: number, px: number) => void
}

/** One line. `LogView` handles the clicks on its buttons by their `data-act`. */
function Row({ entry, number, rowIndex, search, isOpen, isTarget, isHovered, rowPx, onResize }: Props) {
  if (entry.container === gapContainer) return <GapMarker {...{ entry, rowIndex, rowPx }} />
  const { ns, message, fields } = textOf(entry)
  const [firstLine = '', ...otherLines] = message.split('\n')
  const tone = levelTones[entry.level]
  return (
    <div
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
      <div className={rowGrid} style={{ height: rowPx }}>
        <span role="cell" className="truncate text-ink-2" data-tip={formatDateTime(entry.timestamp)}>
          <Time at={entry.timestamp} />
        </span>
        <span role="cell" className={cx(toneText[tone], 'truncate')}>
          {entry.level}
        </span>
        <span role="cell" className={cx('truncate text-ink-2', hideContainerClass)}>
          <Highlighted text={entry.container} search="" />
        </span>
        <span role="cell" className="flex min-w-0 items-center gap-1 max-xs:col-span-full">
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
          <span className="min-w-0 truncate whitespace-pre">
            {ns && (
              <span className="text-ink-2">
                <Highlighted text={ns} search={search} />{' '}
              </span>
            )}
            <Highlighted text={firstLine} search={search} />
            {otherLines.length > 0 && <span className="text-ink-2"> ▸ {otherLines.length + 1} lines</span>}
            {fields && (
              <span className="text-ink-2">
                {' '}
                <Highlighted text={JSON.stringify(fields)} search={search} />
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
      {isOpen && <LogDetail entry={entry} search={search} onResize={(px) => onResize(number, px)} />}
    </div>
  )
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

/** Marks a gap: lines that the server skipped because the client read too slowly. */
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

const pad = (n: number, digits = 2) => String(n).padStart(digits, '0')

/** `21.11 12:04:31.208`, in the user's time zone. Formatted without Intl, because scrolling renders thousands of rows per second. */
function Time({ at }: { at: string }) {
  const time = new Date(at)
  const timeOfDay = `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}.${pad(time.getMilliseconds(), 3)}`
  return (
    <time dateTime={at}>
      <span className="max-xs:hidden">
        {pad(time.getDate())}.{pad(time.getMonth() + 1)}{' '}
      </span>
      {timeOfDay}
    </time>
  )
}

/** Text in which the matches of the search are highlighted. */
export function Highlighted({ text, search }: { text: string; search: string }) {
  const parts = splitAtMatches(text, search)
  if (parts.length === 1) return text
  return parts.map((part, index) =>
    index % 2 === 1 ? (
      <mark key={index} className="rounded-[2px] bg-[color-mix(in_srgb,var(--accent)_26%,transparent)] text-ink">
        {part}
      </mark>
    ) : (
      part
    ),
  )
}
