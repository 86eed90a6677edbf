import type { ComponentProps, MouseEvent, ReactNode } from 'react'
import { cx } from './classes.ts'
import { Spinner } from './Spinner.tsx'

export type ButtonVariant = 'primary' | 'secondary' | 'ghost' | 'danger'
/** Heights in pixels. */
export type ButtonSize = 28 | 32 | 36

const base =
  'relative inline-flex shrink-0 items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap select-none transition-colors aria-disabled:cursor-default'

const variants: Record<ButtonVariant, string> = {
  primary:
    'border-transparent bg-accent text-on-accent not-aria-disabled:hover:bg-accent-strong aria-disabled:not-aria-busy:bg-muted aria-disabled:not-aria-busy:text-ink-3',
  secondary:
    'border-edge bg-canvas text-ink not-aria-disabled:hover:border-edge-strong not-aria-disabled:hover:bg-subtle not-aria-disabled:active:bg-muted aria-disabled:not-aria-busy:border-line aria-disabled:not-aria-busy:text-ink-3',
  ghost:
    'border-transparent bg-transparent text-ink-2 not-aria-disabled:hover:bg-muted not-aria-disabled:hover:text-ink not-aria-disabled:active:bg-pressed aria-disabled:not-aria-busy:text-ink-3',
  danger:
    'border-transparent bg-bad text-on-bad not-aria-disabled:hover:bg-bad-strong aria-disabled:not-aria-busy:bg-muted aria-disabled:not-aria-busy:text-ink-3',
}

const sizes: Record<ButtonSize, string> = { 28: 'h-7 text-sm', 32: 'h-8', 36: 'h-9 text-md' }
const paddings: Record<ButtonSize, string> = { 28: 'px-2.5', 32: 'px-3', 36: 'px-3.5' }
const squares: Record<ButtonSize, string> = { 28: 'w-7', 32: 'w-8', 36: 'w-9' }

/** The classes of a button, for links that have its appearance. */
export function buttonClass(variant: ButtonVariant = 'secondary', size: ButtonSize = 32, isSquare = false): string {
  return cx(base, variants[variant], sizes[size], (isSquare ? squares : paddings)[size])
}

export type ButtonProps = Omit<ComponentProps<'button'>, 'disabled'> & {
  variant?: ButtonVariant
  size?: ButtonSize
  icon?: ReactNode
  /** Has only an icon. */
  isSquare?: boolean
  /** The action is in progress: the button keeps its width, shows a spinner and ignores clicks. */
  isPending?: boolean
  isDisabled?: boolean
  /** Disables the button; the reason is shown on hover and focus, and read by screen readers. */
  disabledReason?: string | null
}

/** A native button. It stays focusable while it is disabled, so that keyboard users can read the reason. */
export function Button({
  variant = 'secondary',
  size = 32,
  icon,
  isSquare = false,
  isPending = false,
  isDisabled = false,
  disabledReason = null,
  className,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  const isInactive = isPending || isDisabled || disabledReason !== null
  const press = (event: MouseEvent<HTMLButtonElement>) => (isInactive ? event.preventDefault() : onClick?.(event))
  return (
    <button
      type="button"
      {...rest}
      {...(disabledReason !== null && { 'data-tip': disabledReason, 'aria-description': disabledReason })}
      aria-disabled={isInactive || undefined}
      aria-busy={isPending || undefined}
      onClick={press}
      className={cx(buttonClass(variant, size, isSquare), className)}
    >
      <span className={cx('inline-flex items-center gap-1.5', isPending && 'opacity-0')}>
        {icon}
        {children}
      </span>
      {isPending && (
        <span className="absolute inset-0 grid place-items-center">
          <Spinner />
        </span>
      )}
    </button>
  )
}
