import { Pin, PinOff } from 'lucide-react'
import { createLocalList } from '../../components/local-list.ts'
import type { MenuAction } from '../../ui/Menu.tsx'

const usePinnedNames = createLocalList('pinnedSquids', (value) => typeof value === 'string')

/** The squids that the user has pinned to the top of the list, by name. */
export function usePins() {
  const { items, save } = usePinnedNames()
  return {
    isPinned: (name: string) => items.includes(name),
    names: items,
    actionOf: (name: string): MenuAction =>
      items.includes(name)
        ? {
            id: 'pin',
            label: 'Unpin squid',
            icon: <PinOff size={16} />,
            onAction: () => save(items.filter((item) => item !== name)),
          }
        : {
            id: 'pin',
            label: 'Pin squid to the top',
            icon: <Pin size={16} />,
            onAction: () => save([...items, name]),
          },
  }
}
