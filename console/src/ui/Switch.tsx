import type { ComponentProps, ReactNode } from 'react'
import { cx } from './classes.ts'

type Props = Omit<ComponentProps<'input'>, 'type' | 'role'> & { children: ReactNode }

/** A switch for a setting that is applied immediately. */
export function Switch({ children, className, ...input }: Props) {
  return (
    <label className={cx('inline-flex items-center gap-2.5 has-disabled:text-ink-3', className)}>
      <span className="relative inline-block h-4.5 w-8 shrink-0">
        <input
          {...input}
          type="checkbox"
          role="switch"
          className="peer block h-4.5 w-8 appearance-none rounded-full border border-control bg-muted transition-colors not-disabled:hover:border-ink-3 checked:border-accent checked:bg-accent disabled:border-line"
        />
        <span className="pointer-events-none absolute top-0.75 left-0.75 size-3 rounded-full bg-control transition-[translate] peer-checked:translate-x-3.5 peer-checked:bg-on-accent peer-disabled:bg-edge" />
      </span>
      <span>{children}</span>
    </label>
  )
}
