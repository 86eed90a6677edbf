import { cx } from './classes.ts'

const fills = { info: 'bg-info', good: 'bg-good', warn: 'bg-warn', bad: 'bg-bad' }

type Props = {
  label: string
  /** Between 0 and 1; larger values are shown as full. */
  ratio: number
  tone?: keyof typeof fills
  className?: string
}

/** A progress bar. It shows no number; the caller shows the number next to it. */
export function ProgressBar({ label, ratio, tone = 'info', className }: Props) {
  const percent = Math.round(Math.min(1, Math.max(0, ratio)) * 100)
  return (
    <span
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
      className={cx('inline-block h-1 w-21 overflow-hidden rounded-full bg-line align-middle', className)}
    >
      <span
        className={cx('block h-full rounded-full transition-[width]', fills[tone])}
        style={{ width: `${percent}%` }}
      />
    </span>
  )
}
