import { CircleAlert, CircleCheck, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'
import { toneText } from './tones.ts'
import { cx } from './classes.ts'

export type AlertTone = 'info' | 'good' | 'warn' | 'bad'

const icons = { info: Info, good: CircleCheck, warn: TriangleAlert, bad: CircleAlert }
const toneClasses = {
  info: 'bg-info-soft border-info',
  good: 'bg-good-soft border-good',
  warn: 'bg-warn-soft border-warn',
  bad: 'bg-bad-soft border-bad',
}

type Props = {
  tone: AlertTone
  title?: string
  children?: ReactNode
  action?: ReactNode
  /** Has square corners, because it fills a card. */
  isFlush?: boolean
  className?: string
}

/** An inline message. Screen readers announce it immediately if its tone is `bad`. */
export function Alert({ tone, title, children, action, isFlush = false, className }: Props) {
  const Icon = icons[tone]
  return (
    <div
      role={tone === 'bad' ? 'alert' : 'status'}
      className={cx(
        'flex flex-wrap items-start gap-2.5 border-l-2 px-3.5 py-2.5',
        !isFlush && 'rounded-r-md',
        toneClasses[tone],
        className,
      )}
    >
      <Icon size={16} aria-hidden className={cx('mt-0.5 shrink-0', toneText[tone])} />
      <div className="min-w-0 flex-1 basis-60">
        {title && <p className={cx('font-medium', toneText[tone])}>{title}</p>}
        {children && <div className="text-ink">{children}</div>}
      </div>
      {/* If the text beside the action would be too narrow, the action is below the text. */}
      {action && <div className="flex flex-wrap gap-2 max-xxs:ml-6.5">{action}</div>}
    </div>
  )
}
