import type { Action } from '../ui/action.ts'
import { Button, type ButtonProps } from '../ui/Button.tsx'
import { isValidElement } from 'react'

type Props = Omit<ButtonProps, 'onClick' | 'icon' | 'children' | 'disabledReason'> & { action: Action }

/** A button that runs an action. */
export function ActionButton({ action: { label, icon: Icon, disabledReason = null, run }, ...button }: Props) {
  const icon = Icon && (isValidElement(Icon) ? Icon : <Icon size={14} aria-hidden />)
  return (
    <Button {...button} {...(icon && { icon })} disabledReason={disabledReason} onClick={run}>
      {label}
    </Button>
  )
}
