import { isInProgress, type Deployment, type DeploymentLog } from '@shoal/contract'
import { ArrowDown, CornerDownRight } from 'lucide-react'
import { memo, useEffect, useMemo, useRef, useState, type ReactNode } from 'react'
import { countOf, formatDateTime, formatInteger } from '../../lib/format.ts'
import { Button } from '../../ui/Button.tsx'
import { Card } from '../../ui/Card.tsx'
import { cx } from '../../ui/classes.ts'
import { CopyButton } from '../../ui/CopyButton.tsx'
import { MarkedText } from '../MarkedText.tsx'
import { styledParts, withoutColours } from './ansi.ts'
import { failureSummary, firstErrorIndex } from './failure-text.ts'
import { matchingLines, noFilter, type LineFilter } from './line-filter.ts'

type Props = {
  deployment: Deployment
  title?: string
  /** The accessible name of the lines, which must be unique on a page. */
  linesLabel?: string
  /** Shown to the right of the title. */
  aside?: ReactNode
  /** Shows only lines that match. To change the filter, the caller must change the `key` of the component, too. */
  filter?: LineFilter
}

/** The number of lines per block. The browser does not render blocks that are off screen. */
const blockLines = 200
const linePx = 20
/** The log follows new lines while it is scrolled to within this distance of the end. */
const endThresholdPx = 24

const severityClasses = { info: '', warn: 'text-warn', error: 'text-bad' }

/**
 * Shortens the last line to its summary if it repeats the whole failure reason. The server writes the reason there for clients that show
 * only the log.
 */
function withoutRepetition(lines: readonly DeploymentLog[], failureReason: string | null): readonly DeploymentLog[] {
  const last = lines.at(-1)
  if (last === undefined || last.message !== failureReason) return lines
  return [...lines.slice(0, -1), { ...last, message: failureSummary({ failureReason }) }]
}

/** The log of a deployment. It follows new lines until the user scrolls up. */
export function DeployLog({ deployment, title = 'Log', linesLabel = 'Log lines', aside, filter = noFilter }: Props) {
  const { logs, failureReason, createdAt: startedAt } = deployment
  const isGrowing = isInProgress(deployment)
  const allLines = useMemo(() => withoutRepetition(logs, failureReason), [logs, failureReason])
  const lines = useMemo(() => matchingLines(allLines, filter), [allLines, filter])
  const container = useRef<HTMLDivElement>(null)
  const [isFollowing, setIsFollowing] = useState(isGrowing)
  const scrollToEnd = () => container.current?.scrollTo({ top: container.current.scrollHeight })
  useEffect(() => {
    if (isFollowing) scrollToEnd()
  }, [lines.length, isFollowing])
  const onScroll = () => {
    const element = container.current
    if (element) setIsFollowing(element.scrollHeight - element.scrollTop - element.clientHeight < endThresholdPx)
  }
  const firstError = useMemo(() => firstErrorIndex(lines), [lines])
  const showFirstError = () => {
    setIsFollowing(false)
    container.current?.querySelectorAll('p')[firstError]?.scrollIntoView({ block: 'center' })
  }
  const blocks = Array.from({ length: Math.ceil(lines.length / blockLines) }, (_, index) => index * blockLines)
  return (
    <Card
      title={title}
      aside={
        <>
          {aside}
          {firstError >= 0 && !isGrowing && (
            <Button size={28} icon={<CornerDownRight size={14} aria-hidden />} onClick={showFirstError}>
              First error
            </Button>
          )}
          <span className="tabular text-sm whitespace-nowrap text-ink-3 max-xs:hidden">
            {lines.length < allLines.length && `${formatInteger(lines.length)} of `}
            {countOf(allLines.length, 'line')}
          </span>
          <CopyButton what="log" text={lines.map(({ message }) => withoutColours(message)).join('\n')} />
        </>
      }
    >
      <div className="relative">
        <div
          ref={container}
          role="region"
          aria-label={linesLabel}
          tabIndex={0}
          onScroll={onScroll}
          className="max-h-[70vh] min-h-40 overflow-y-auto bg-subtle py-2 font-mono text-code leading-5 -outline-offset-2"
        >
          {blocks.map((first) => {
            const count = Math.min(blockLines, lines.length - first)
            const errorIndex = firstError >= first && firstError < first + count ? firstError : -1
            return (
              <Block
                key={first}
                lines={lines}
                first={first}
                count={count}
                errorIndex={errorIndex}
                startedAt={startedAt}
                search={filter.search}
              />
            )
          })}
          {lines.length === 0 && (
            <p className="px-3.5 text-ink-3">
              {allLines.length > 0
                ? 'No line matches the filters.'
                : isGrowing
                  ? 'Waiting for the first line…'
                  : 'No log lines.'}
            </p>
          )}
        </div>
        {isGrowing && !isFollowing && (
          <div className="absolute right-4 bottom-3">
            <Button
              size={28}
              icon={<ArrowDown size={14} aria-hidden />}
              onClick={scrollToEnd}
              className="shadow-overlay"
            >
              Follow
            </Button>
          </div>
        )}
      </div>
    </Card>
  )
}

type BlockProps = {
  lines: readonly DeploymentLog[]
  /** The index of the first line of the block. */
  first: number
  count: number
  /** The index of the first error of the log; −1 if it is not in this block. */
  errorIndex: number
  startedAt: string
  search: string
}

/** Lines never change, so a block renders again only when it receives more lines or the mark of the first error. */
const Block = memo(
  function Block({ lines, first, count, errorIndex, startedAt, search }: BlockProps) {
    return (
      <div className="[content-visibility:auto]" style={{ containIntrinsicBlockSize: `auto ${count * linePx}px` }}>
        {lines.slice(first, first + count).map((line, index) => (
          <Line
            key={index}
            line={line}
            startedAt={startedAt}
            isFirstError={first + index === errorIndex}
            search={search}
          />
        ))}
      </div>
    )
  },
  (previous, next) =>
    previous.count === next.count && previous.errorIndex === next.errorIndex && previous.startedAt === next.startedAt,
)

type LineProps = { line: DeploymentLog; startedAt: string; isFirstError: boolean; search: string }

function Line({ line: { severity, message, at }, startedAt, isFirstError, search }: LineProps) {
  return (
    <p className={cx('flex gap-3 border-l-2 px-3', isFirstError ? 'border-bad bg-bad-soft' : 'border-transparent')}>
      <time dateTime={at} title={formatDateTime(at)} className="tabular w-14 shrink-0 text-right text-ink-3">
        {((Date.parse(at) - Date.parse(startedAt)) / 1000).toFixed(1)} s
      </time>
      <span className={cx('min-w-0 flex-1 wrap-anywhere whitespace-pre-wrap', severityClasses[severity])}>
        {severity !== 'info' && <span className="sr-only">{severity}: </span>}
        {styledParts(message).map(({ text, className }, index) => (
          <span key={index} className={className}>
            <MarkedText text={text} search={search} />
          </span>
        ))}
      </span>
    </p>
  )
}
