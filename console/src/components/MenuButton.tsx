import { useRef, useState, type ReactElement, type ReactNode, type RefObject } from 'react'
import type { MenuProps } from '../ui/Menu.tsx'
import { lazyPart, LazyBoundary } from '../lib/lazy.tsx'

const Menu = lazyPart(() => import('../ui/Menu.tsx'))

/** The props that the button which opens the menu must have. */
export type TriggerProps = {
  ref: RefObject<HTMLButtonElement | null>
  'aria-haspopup': 'menu'
  'aria-expanded': boolean
  onClick: () => void
  onPointerEnter: () => void
  onFocus: () => void
}

type Props = Pick<MenuProps, 'label' | 'groups' | 'placement'> & {
  header?: ReactNode
  renderTrigger: (props: TriggerProps) => ReactElement
}

/**
 * A button that opens a menu. The menu's code loads on hover or focus, and a click waits for the code before it opens the menu: an
 * overlay whose code React loads through `Suspense` takes five times as long to open.
 */
export function MenuButton({ renderTrigger, ...menu }: Props) {
  const ref = useRef<HTMLButtonElement>(null)
  const [isOpen, setIsOpen] = useState(false)
  const load = () => void Menu.preload()
  return (
    <>
      {renderTrigger({
        ref,
        'aria-haspopup': 'menu',
        'aria-expanded': isOpen,
        onClick: () => void Menu.load().then(() => setIsOpen(true)),
        onPointerEnter: load,
        onFocus: load,
      })}
      {isOpen && (
        <LazyBoundary what="The menu" onFailed={() => setIsOpen(false)}>
          <Menu {...menu} triggerRef={ref} isOpen={isOpen} onOpenChange={setIsOpen} />
        </LazyBoundary>
      )}
    </>
  )
}
