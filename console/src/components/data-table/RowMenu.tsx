import { useRef, useState, type RefObject } from 'react'
import { groupsOf, type Action } from '../../ui/action.ts'
import { lazyPart, LazyBoundary } from '../../lib/lazy.tsx'
import { createStore, type Store } from '../../lib/store.ts'

const Menu = lazyPart(() => import('../../ui/Menu.tsx'))

type MenuState<T> = {
  /** The row whose menu is open; null if none is. A store, so that the table does not render again when a menu opens. */
  row: Store<T | null>
  trigger: RefObject<HTMLElement | null>
  /** Preloads the menu's code. */
  prepare: () => void
  open: (row: T, trigger: HTMLElement) => void
  close: () => void
}

/** Tracks the row whose menu is open, and the button of that menu. */
export function useRowMenu<T>(): MenuState<T> {
  const trigger = useRef<HTMLElement>(null)
  const [row] = useState(() => createStore<T | null>(null))
  const open = async (nextRow: T, button: HTMLElement) => {
    await Menu.load()
    trigger.current = button
    button.setAttribute('aria-expanded', 'true')
    row.set(nextRow)
  }
  const close = () => {
    trigger.current?.removeAttribute('aria-expanded')
    row.set(null)
  }
  return {
    row,
    trigger,
    prepare: () => void Menu.preload(),
    open: (nextRow, button) => void open(nextRow, button),
    close,
  }
}

type Props<T> = { menu: MenuState<T>; actions: (row: T) => readonly Action[]; nameOf: (row: T) => string }

/** The menu that all rows of a table share. */
export function RowMenu<T>({ menu, actions, nameOf }: Props<T>) {
  const row = menu.row.use()
  if (row === null) return null
  return (
    <LazyBoundary what="The menu" onFailed={menu.close}>
      <Menu
        label={`Actions for ${nameOf(row)}`}
        groups={groupsOf(actions(row))}
        triggerRef={menu.trigger}
        isOpen
        onOpenChange={(isOpen) => !isOpen && menu.close()}
      />
    </LazyBoundary>
  )
}
