import type { DeploymentLog } from '@shoal/contract'
import { ArrowDown } from 'lucide-react'
import { memo, useEffect, useRef, useState } from 'react'
import { formatDateTime } from '../../../lib/format.ts'
import { Button } from '../../../ui/Button.tsx'
import { Card } from '../../../ui/Card.tsx'
import { cx } from '../../../ui/classes.ts'
import { CopyButton } from '../../../ui/CopyButton.tsx'

type Props = {
  lines: readonly DeploymentLog[]
  /** The start of the deployment. Each line shows its offset from this time. */
  startedAt: string
  isGrowing: boolean
}

/** The number of lines per block. The browser does not render blocks that are off screen. */
const blockLines = 200
const linePx = 20
/** The log follows new lines while it is scrolled to within this distance of the end. */
const endThresholdPx = 24

const severityClasses = { info: '', warn: 'text-warn', error: 'text-bad' }

/** The log of a deployment. It follows new lines until the user scrolls up. */
export function DeployLog({ lines, startedAt, isGrowing }: Props) {
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
  const blocks = Array.from({ length: Math.ceil(lines.length / blockLines) }, (_, index) => index * blockLines)
  return (
    <Card
      title="Log"
      aside={
        <>
          <span className="tabular text-sm text-ink-3">{lines.length === 1 ? '1 line' : `${lines.length} lines`}</span>
          <CopyButton what="log" text={lines.map(({ message }) => message).join('\n')} />
        </>
      }
    >
      <div className="relative">
        <div
          ref={container}
          role="region"
          aria-label="Log lines"
          tabIndex={0}
          onScroll={onScroll}
          className="max-h-[70vh] min-h-40 overflow-y-auto bg-subtle py-2 font-mono text-code leading-5 -outline-offset-2!"
        >
          {blocks.map((first) => {
            const count = Math.min(blockLines, lines.length - first)
            return <Block key={first} lines={lines} first={first} count={count} startedAt={startedAt} />
          })}
          {lines.length === 0 && (
            <p className="px-3.5 text-ink-3">{isGrowing ? 'Waiting for the first line…' : 'No log lines.'}</p>
          )}
        </div>
        {isGrowing && !isFollowing && (
          <Button
            size={28}
            icon={<ArrowDown size={14} aria-hidden />}
            onClick={scrollToEnd}
            className="absolute! right-4 bottom-3 shadow-overlay"
          >
            Follow
          </Button>
        )}
      </div>
    </Card>
  )
}

type BlockProps = { lines: readonly DeploymentLog[]; first: number; count: number; startedAt: string }

/** Lines never change, so a block renders again only when lines are added to it. */
const Block = memo(
  function Block({ lines, first, count, startedAt }: BlockProps) {
    return (
      <div className="[content-visibility:auto]" style={{ containIntrinsicBlockSize: `auto ${count * linePx}px` }}>
        {lines.slice(first, first + count).map((line, index) => (
          <Line key={index} line={line} startedAt={startedAt} />
        ))}
      </div>
    )
  },
  (previous, next) => previous.count === next.count && previous.startedAt === next.startedAt,
)

function Line({ line: { severity, message, at }, startedAt }: { line: DeploymentLog; startedAt: string }) {
  return (
    <p className="flex gap-3 px-3.5">
      <time dateTime={at} title={formatDateTime(at)} className="tabular w-14 shrink-0 text-right text-ink-3">
        {((Date.parse(at) - Date.parse(startedAt)) / 1000).toFixed(1)} s
      </time>
      <span className={cx('min-w-0 flex-1 wrap-anywhere whitespace-pre-wrap', severityClasses[severity])}>
        {severity !== 'info' && <span className="sr-only">{severity}: </span>}
        {message}
      </span>
    </p>
  )
}
