import { Pin, PinOff } from 'lucide-react'
import { createLocalList } from '../../components/local-list.ts'
import type { Action } from '../../ui/action.ts'

const usePinnedNames = createLocalList('pinnedSquids', (value) => typeof value === 'string')

/** The names of the squids that the user has pinned to the top of the list, and the action that pins or unpins a squid. */
export function usePins() {
  const { items, save } = usePinnedNames()
  return {
    isPinned: (name: string) => items.includes(name),
    names: items,
    actionOf: (name: string): Action =>
      items.includes(name)
        ? { label: 'Unpin squid', icon: PinOff, run: () => save(items.filter((item) => item !== name)) }
        : { label: 'Pin squid to the top', icon: Pin, run: () => save([...items, name]) },
  }
}
