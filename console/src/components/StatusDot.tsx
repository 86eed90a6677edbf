import type { SquidDisplayStatus } from '@shoal/contract'
import type { ReactNode } from 'react'
import { toneText, type Tone } from '../ui/tones.ts'
import { cx } from '../ui/classes.ts'

type Props = {
  tone: Tone
  children: ReactNode
  /** The status is changing: the dot pulses. */
  isMoving?: boolean
  /** The cause and start of the status, shown on hover and focus. */
  reason?: string
}

/** A status as a coloured dot and a word, so that users need not distinguish colours. */
export function StatusDot({ tone, children, isMoving = false, reason }: Props) {
  return (
    <span
      className={cx('status-dot inline-flex items-center gap-1.75 font-medium whitespace-nowrap', toneText[tone])}
      {...(reason && { 'data-tip': reason, 'aria-description': reason, tabIndex: 0 })}
    >
      <span aria-hidden className="relative size-1.75 shrink-0 rounded-full bg-current">
        <span className={cx('absolute -inset-0.75 rounded-full bg-current opacity-18', isMoving && 'pulse-dot')} />
      </span>
      {children}
    </span>
  )
}

/** Tone and motion of each status of a version. */
export const statusAppearance: Record<SquidDisplayStatus, { tone: Tone; isMoving: boolean }> = {
  HEALTHY: { tone: 'good', isMoving: false },
  DEGRADED: { tone: 'bad', isMoving: false },
  HIBERNATED: { tone: 'neutral', isMoving: false },
  PROCESSING: { tone: 'info', isMoving: true },
  DEPLOYING: { tone: 'info', isMoving: true },
  DELETING: { tone: 'info', isMoving: true },
  HIBERNATING: { tone: 'info', isMoving: true },
  RESTARTING: { tone: 'info', isMoving: true },
}
