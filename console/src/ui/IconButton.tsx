import type { ReactNode } from 'react'
import { Button, type ButtonProps } from './Button.tsx'
import { cx } from './classes.ts'

const widths = { 28: 'w-7', 32: 'w-8', 36: 'w-9' }

type Props = Omit<ButtonProps, 'children' | 'aria-label'> & {
  /** Accessible name and tooltip. */
  label: string
  icon: ReactNode
}

/** A square button with an icon. */
export function IconButton({ label, icon, size = 32, variant = 'ghost', className, ...rest }: Props) {
  return (
    <Button
      data-tip={label}
      {...rest}
      aria-label={label}
      variant={variant}
      size={size}
      className={cx('px-0!', widths[size], className)}
    >
      {icon}
    </Button>
  )
}
