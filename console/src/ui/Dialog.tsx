import { X } from 'lucide-react'
import type { ReactNode } from 'react'
import { Dialog as AriaDialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { cx } from './classes.ts'
import { dialogFooterClass } from './control-classes.ts'
import { IconButton } from './IconButton.tsx'

type Props = {
  title: string
  isOpen: boolean
  /** Called when the user presses the close button, presses Escape or clicks outside; the last two only while `isDismissable`. */
  onClose: () => void
  isDismissable?: boolean
  /** `alertdialog` is for confirmations. */
  role?: 'dialog' | 'alertdialog'
  width?: 'narrow' | 'wide'
  children: ReactNode
  /** Buttons, the primary one last. */
  footer?: ReactNode
}

const widths = { narrow: 'max-w-110', wide: 'max-w-160' }

const backdropClass = 'fixed inset-0 z-30 bg-overlay transition-opacity duration-100 data-entering:opacity-0'

/**
 * Focuses the first field of a dialog that opens, or its first button if it has no field, unless a part has `autoFocus`. The first button is
 * the safest one, because the primary button is the last.
 */
function focusFirstControl(body: HTMLElement | null): void {
  if (body === null || body.contains(document.activeElement)) return
  const control = ':is(input:not([readonly]), select, textarea, button):enabled:not([aria-disabled=true])'
  body.querySelector<HTMLElement>(control)?.focus()
}

/** A modal dialog. */
export function Dialog({
  title,
  isOpen,
  onClose,
  isDismissable = true,
  role = 'dialog',
  width = 'narrow',
  children,
  footer,
}: Props) {
  return (
    <ModalOverlay
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      isDismissable={isDismissable}
      isKeyboardDismissDisabled={!isDismissable}
      className={cx(backdropClass, 'flex items-start justify-center overflow-auto px-4 py-[10vh]')}
    >
      <Modal
        className={cx('overlay-motion w-full rounded-lg border border-line bg-canvas shadow-overlay', widths[width])}
      >
        <AriaDialog role={role} className="flex flex-col outline-none">
          <header className="flex items-start gap-3 px-5 pt-4.5 pb-2">
            <Heading slot="title" className="flex-1 text-lg font-semibold">
              {title}
            </Heading>
            <IconButton
              label="Close"
              size={28}
              icon={<X size={16} aria-hidden />}
              onClick={onClose}
              className="-mr-1.5"
            />
          </header>
          <div ref={focusFirstControl} className="px-5 pb-5 text-ink-2">
            {children}
            {footer && <footer className={cx(dialogFooterClass, 'mt-4')}>{footer}</footer>}
          </div>
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}

type SheetProps = { label: string; isOpen: boolean; onClose: () => void; side?: 'left' | 'right'; children: ReactNode }

const sides = {
  left: 'left-0 border-r data-entering:-translate-x-4',
  right: 'right-0 border-l data-entering:translate-x-4',
}

/** A panel that slides in from a side, such as the navigation on narrow screens. */
export function Sheet({ label, isOpen, onClose, side = 'left', children }: SheetProps) {
  return (
    <ModalOverlay isOpen={isOpen} onOpenChange={(open) => !open && onClose()} isDismissable className={backdropClass}>
      <Modal
        className={cx(
          'fixed inset-y-0 w-80 max-w-[calc(100vw-3rem)] overflow-auto border-line bg-canvas shadow-overlay transition-[translate,opacity] duration-120 data-entering:opacity-0',
          sides[side],
        )}
      >
        <AriaDialog aria-label={label} className="min-h-full outline-none">
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  )
}
