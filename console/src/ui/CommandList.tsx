import { Search } from 'lucide-react'
import { useState } from 'react'
import {
  Autocomplete,
  Dialog,
  Header,
  Input,
  Menu,
  MenuItem,
  MenuSection,
  Modal,
  ModalOverlay,
  TextField,
  useFilter,
} from 'react-aria-components'
import type { Action } from './action.ts'
import { Kbd } from './Kbd.tsx'
import { itemClass } from './control-classes.ts'

export type CommandGroup = { title: string; actions: readonly Action[]; isMono?: boolean }

type Props = {
  label: string
  /** The groups for the typed text. Of their actions, the list shows those that are enabled and whose label contains the text. */
  groupsFor: (text: string) => readonly CommandGroup[]
  onClose: () => void
}

/** A command palette: the typed text filters the commands, and Enter runs the selected one. */
export function CommandList({ label, groupsFor, onClose }: Props) {
  const [text, setText] = useState('')
  const { contains } = useFilter({ sensitivity: 'base' })
  return (
    <ModalOverlay
      isOpen
      isDismissable
      onOpenChange={(isOpen) => !isOpen && onClose()}
      className="fixed inset-0 z-40 flex items-start justify-center bg-overlay px-4 pt-[12vh] transition-opacity duration-100 data-entering:opacity-0"
    >
      <Modal className="overlay-motion w-full max-w-140 rounded-lg border border-line bg-canvas shadow-overlay">
        <Dialog aria-label={label} className="outline-none">
          <Autocomplete filter={contains} inputValue={text} onInputChange={setText}>
            {/* Not a SearchField: there, the first Escape would clear the text instead of closing the palette. */}
            <TextField
              type="search"
              aria-label={label}
              autoFocus
              className="flex items-center gap-2.5 border-b border-line px-3.5"
            >
              <Search size={16} aria-hidden className="text-ink-3" />
              <Input
                placeholder={label}
                className="h-12 flex-1 bg-transparent text-md outline-none [&::-webkit-search-cancel-button]:appearance-none"
              />
              <Kbd keys="Esc" />
            </TextField>
            {/* The focus stays in the search field, so the list needs a separate tab stop for scrolling. */}
            <div tabIndex={0} className="max-h-[52vh] overflow-auto p-1.5 -outline-offset-2">
              <Menu
                aria-label={label}
                onClose={onClose}
                className="outline-none"
                renderEmptyState={() => <p className="px-2 py-6 text-center text-ink-3">No matches</p>}
              >
                {groupsFor(text)
                  .map((group) => ({
                    ...group,
                    actions: group.actions.filter(({ disabledReason }) => !disabledReason),
                  }))
                  .filter(({ actions }) => actions.length > 0)
                  .map(({ title, actions, isMono = false }) => (
                    <MenuSection key={title} className="mb-1.5 last:mb-0">
                      <Header className="px-2 py-1 text-xs text-ink-3">{title}</Header>
                      {actions.map((action) => (
                        <Item
                          key={action.id ?? action.label}
                          id={`${title} ${action.id ?? action.label}`}
                          action={action}
                          isMono={isMono}
                        />
                      ))}
                    </MenuSection>
                  ))}
              </Menu>
            </div>
          </Autocomplete>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}

function Item({ id, action: { label, keys, run }, isMono }: { id: string; action: Action; isMono: boolean }) {
  return (
    <MenuItem id={id} textValue={label} onAction={run} className={itemClass}>
      <span className={isMono ? 'flex-1 truncate font-mono text-code' : 'flex-1 truncate'}>{label}</span>
      {keys && <Kbd keys={keys} />}
    </MenuItem>
  )
}
