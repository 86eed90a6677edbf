import type { SquidDisplayStatus } from '@shoal/contract'
import type { ReactNode } from 'react'
import { toneText, type Tone } from '../ui/tones.ts'
import { cx } from '../ui/classes.ts'

type Props = {
  tone: Tone
  children: ReactNode
  /** Makes the dot pulse while the status is changing. */
  isPulsing?: boolean
  /** The cause and start of the status, shown on hover and focus. */
  reason?: string
}

/** A status as a coloured dot and a word, so that users need not distinguish colours. */
export function StatusDot({ tone, children, isPulsing = false, reason }: Props) {
  return (
    <span
      className={cx(
        'status-dot ml-0.75 inline-flex items-baseline gap-1.75 font-medium whitespace-nowrap',
        toneText[tone],
      )}
      {...(reason && { 'data-tip': reason, 'aria-description': reason, tabIndex: 0 })}
    >
      <span
        aria-hidden
        className={cx(
          'relative size-1.75 shrink-0 self-center rounded-full bg-current',
          'before:absolute before:-inset-0.75 before:rounded-full before:bg-current before:opacity-18',
          isPulsing && 'before:pulse-dot',
        )}
      />
      {children}
    </span>
  )
}

/** Tone of each status of a version, and whether its dot pulses. */
export const statusAppearance: Record<SquidDisplayStatus, { tone: Tone; isPulsing: boolean }> = {
  HEALTHY: { tone: 'good', isPulsing: false },
  DEGRADED: { tone: 'bad', isPulsing: false },
  HIBERNATED: { tone: 'neutral', isPulsing: false },
  PROCESSING: { tone: 'info', isPulsing: true },
  DEPLOYING: { tone: 'info', isPulsing: true },
  DELETING: { tone: 'info', isPulsing: true },
  HIBERNATING: { tone: 'info', isPulsing: true },
  RESTARTING: { tone: 'info', isPulsing: true },
}
