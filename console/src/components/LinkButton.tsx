import { createLink } from '@tanstack/react-router'
import type { ComponentProps, ReactNode } from 'react'
import { Button, buttonClass, type ButtonVariant } from '../ui/Button.tsx'

type Props = Omit<ComponentProps<'a'>, 'className'> & {
  variant?: ButtonVariant
  icon?: ReactNode
  /** Disables the button, which then shows this reason. */
  disabledReason?: string | null
}

function Anchor({ variant = 'secondary', icon, disabledReason = null, children, ...link }: Props) {
  if (disabledReason !== null)
    return (
      <Button variant={variant} icon={icon} disabledReason={disabledReason}>
        {children}
      </Button>
    )
  return (
    <a {...link} className={buttonClass(variant)}>
      {icon}
      {children}
    </a>
  )
}

/** A link to a page, with the appearance of a button. */
export const LinkButton = createLink(Anchor)
