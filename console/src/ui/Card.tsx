import type { ReactNode } from 'react'
import { cx } from './classes.ts'

type Props = { title?: ReactNode; aside?: ReactNode; children: ReactNode; className?: string; isPadded?: boolean }

/** A bordered surface with an optional header. */
export function Card({ title, aside, children, className, isPadded = false }: Props) {
  return (
    <section
      data-card={isPadded ? 'padded' : 'flush'}
      className={cx('overflow-hidden rounded-lg border border-line bg-canvas', className)}
    >
      {title && (
        <header className="flex min-h-11 items-center gap-3 border-b border-line px-3.5 py-1.5">
          <h2 className="flex-1 text-md font-semibold">{title}</h2>
          {aside}
        </header>
      )}
      {isPadded ? <div className="p-3.5">{children}</div> : children}
    </section>
  )
}

export type KeyValueRow = {
  label: string
  value: ReactNode
  /** True if the value has its own padding. */
  isFlush?: boolean
  /** True if the value is the sum of the rows above. */
  isTotal?: boolean
}

/**
 * A list of labels and values. Labels have a separate column; with `isNarrow`, for a narrow card, values are at the right edge,
 * so that amounts line up.
 */
export function KeyValue({ rows, isNarrow = false }: { rows: readonly KeyValueRow[]; isNarrow?: boolean }) {
  return (
    <dl className="divide-y divide-line">
      {rows.map(({ label, value, isFlush, isTotal }) => (
        <div
          key={label}
          className={
            isNarrow
              ? cx('flex items-center justify-between gap-4 px-3.5 py-2', isTotal && 'font-semibold')
              : 'grid grid-cols-1 xs:grid-cols-[150px_minmax(0,1fr)]'
          }
        >
          <dt className={cx('text-ink-2', isNarrow ? 'shrink-0' : 'px-3.5 pt-2.5 xs:pb-2.5', isFlush && 'pb-2')}>
            {label}
          </dt>
          <dd
            className={cx(
              'min-w-0',
              isNarrow ? 'tabular text-right wrap-anywhere' : !isFlush && 'px-3.5 pb-2.5 xs:pt-2.5',
            )}
          >
            {value}
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** Three figures of a card, each below its label. On phones they are below each other. */
export function Figures({ figures }: { figures: readonly { label: string; value: string }[] }) {
  return (
    <dl className="grid divide-line max-xs:divide-y xs:grid-cols-3 xs:divide-x">
      {figures.map(({ label, value }) => (
        <div key={label} className="px-3.5 py-3">
          <dt className="text-sm text-ink-2">{label}</dt>
          <dd className="tabular mt-0.5 text-lg font-semibold">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
