import type { ComponentProps, ReactNode } from 'react'
import { cx } from './classes.ts'
import { toneSoft, toneText, type Tone } from './tones.ts'

/** A short status or role: `Succeeded`, `Admin`. */
export function Badge({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={cx('inline-flex h-5 items-center gap-1.5 rounded-sm px-1.5 text-xs font-medium', toneSoft[tone])}>
      {children}
    </span>
  )
}

/** A label in small capitals: `BETA`, `PREVIEW`. */
export function Label({ tone = 'neutral', children }: { tone?: Tone; children: ReactNode }) {
  const edge = tone === 'neutral' ? 'border-edge text-ink-3' : cx('border-current', toneText[tone])
  return (
    <span className={cx('rounded-sm border px-1.25 text-label leading-4 font-medium tracking-wide', edge)}>
      {children}
    </span>
  )
}

/** A tag of a version, truncated if it is too wide. `isMain` is true for the tags of production. */
export function Tag({ isMain = false, children }: { isMain?: boolean; children: string }) {
  return (
    <span
      title={children}
      className={cx(
        'inline-block max-w-full min-w-0 truncate rounded-sm align-bottom px-1.5 font-mono text-tag leading-4.5 font-medium',
        toneSoft[isMain ? 'accent' : 'neutral'],
      )}
    >
      {children}
    </span>
  )
}

/** A button that turns a filter on and off. */
export function Chip({ isOn, className, ...button }: ComponentProps<'button'> & { isOn: boolean }) {
  return (
    <button
      type="button"
      {...button}
      aria-pressed={isOn}
      className={cx(
        'h-7 rounded-full border px-3 text-sm transition-colors',
        isOn
          ? 'border-accent bg-accent-soft font-medium text-accent'
          : 'border-control text-ink-2 hover:border-ink-3 hover:text-ink',
        className,
      )}
    />
  )
}
