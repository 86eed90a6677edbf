import { useRef, useState, type RefObject } from 'react'
import { groupsOf, type Action } from '../../ui/action.ts'
import { prefetch } from '../../ui/prefetch.ts'
import { lazyPart, LazyBoundary } from '../../lib/lazy.tsx'

const loadMenu = () => import('../../ui/Menu.tsx')
const Menu = lazyPart(loadMenu)

type MenuState<T> = {
  /** The row whose menu is open; null if none is. */
  row: T | null
  trigger: RefObject<HTMLElement | null>
  /** Preloads the menu's code. */
  prepare: () => void
  open: (row: T, trigger: HTMLElement) => void
  close: () => void
}

/** Tracks the row whose menu is open, and the button of that menu. */
export function useRowMenu<T>(): MenuState<T> {
  const trigger = useRef<HTMLElement>(null)
  const [row, setRow] = useState<T | null>(null)
  const open = async (nextRow: T, button: HTMLElement) => {
    await loadMenu()
    trigger.current = button
    button.setAttribute('aria-expanded', 'true')
    setRow(nextRow)
  }
  const close = () => {
    trigger.current?.removeAttribute('aria-expanded')
    setRow(null)
  }
  return {
    row,
    trigger,
    prepare: () => prefetch(loadMenu),
    open: (nextRow, button) => void open(nextRow, button),
    close,
  }
}

type Props<T> = { menu: MenuState<T>; actions: (row: T) => readonly Action[]; nameOf: (row: T) => string }

/** The menu that all rows of a table share. */
export function RowMenu<T>({ menu, actions, nameOf }: Props<T>) {
  if (menu.row === null) return null
  return (
    <LazyBoundary what="The menu" onFailed={menu.close}>
      <Menu
        label={`Actions for ${nameOf(menu.row)}`}
        groups={groupsOf(actions(menu.row))}
        triggerRef={menu.trigger}
        isOpen
        onOpenChange={(isOpen) => !isOpen && menu.close()}
      />
    </LazyBoundary>
  )
}
