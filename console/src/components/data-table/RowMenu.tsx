import { lazy, Suspense, useRef, useState, type RefObject } from 'react'
import type { MenuGroup } from '../../ui/Menu.tsx'

const loadMenu = () => import('../../ui/Menu.tsx')
const Menu = lazy(loadMenu)

export type MenuOf<T> = (row: T) => { label: string; groups: readonly MenuGroup[] }

type MenuState<T> = {
  row: T | null
  trigger: RefObject<HTMLElement | null>
  /** Preloads the menu's code. */
  prepare: () => void
  open: (row: T, trigger: HTMLElement) => void
  close: () => void
}

/** The row whose menu is open, and its button. */
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
  return { row, trigger, prepare: () => void loadMenu(), open: (nextRow, button) => void open(nextRow, button), close }
}

/** The one menu of the table. */
export function RowMenu<T>({ menu, menuOf }: { menu: MenuState<T>; menuOf: MenuOf<T> }) {
  if (menu.row === null) return null
  return (
    <Suspense>
      <Menu {...menuOf(menu.row)} triggerRef={menu.trigger} isOpen onOpenChange={(isOpen) => !isOpen && menu.close()} />
    </Suspense>
  )
}
