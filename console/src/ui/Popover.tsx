import type { ReactNode, RefObject } from 'react'
import { Dialog, Popover as AriaPopover } from 'react-aria-components'

type Props = {
  label: string
  triggerRef: RefObject<Element | null>
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  placement?: 'bottom start' | 'bottom end' | 'top'
  children: ReactNode
}

/** A small panel that opens next to an element. */
export function Popover({ label, triggerRef, isOpen, onOpenChange, placement = 'bottom start', children }: Props) {
  return (
    <AriaPopover
      triggerRef={triggerRef}
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      placement={placement}
      offset={4}
      className="overlay-motion max-w-96 rounded-lg border border-line bg-canvas shadow-overlay outline-none"
    >
      <Dialog aria-label={label} className="p-3.5 outline-none">
        {children}
      </Dialog>
    </AriaPopover>
  )
}
