import type { ReactNode } from 'react'
import { Button, type ButtonProps } from './Button.tsx'

type Props = Omit<ButtonProps, 'children' | 'aria-label' | 'isSquare'> & {
  /** Accessible name and tooltip. */
  label: string
  icon: ReactNode
}

/** A square button with an icon. */
export function IconButton({ label, icon, variant = 'ghost', ...rest }: Props) {
  return (
    <Button data-tip={label} {...rest} aria-label={label} variant={variant} isSquare>
      {icon}
    </Button>
  )
}
