import { Search } from 'lucide-react'
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
  SearchField,
  useFilter,
} from 'react-aria-components'
import { Kbd } from './Kbd.tsx'
import { itemClass } from './control-classes.ts'

export type Command = { id: string; label: string; keys?: string; isMono?: boolean; run: () => void }
export type CommandGroup = { id: string; title: string; commands: readonly Command[] }

type Props = { label: string; groups: readonly CommandGroup[]; onClose: () => void }

/** A command palette: typing filters, Enter runs the selected command. */
export function CommandList({ label, groups, onClose }: Props) {
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
          <Autocomplete filter={contains}>
            <SearchField aria-label={label} autoFocus className="flex items-center gap-2.5 border-b border-line px-3.5">
              <Search size={16} aria-hidden className="text-ink-3" />
              <Input
                placeholder={label}
                className="h-12 flex-1 bg-transparent text-md outline-none [&::-webkit-search-cancel-button]:appearance-none"
              />
              <Kbd keys="Esc" />
            </SearchField>
            {/* The focus stays in the search field, so the list needs its own tab stop for scrolling. */}
            <div tabIndex={0} className="max-h-[52vh] overflow-auto p-1.5 -outline-offset-2">
              <Menu
                aria-label={label}
                onClose={onClose}
                className="outline-none"
                renderEmptyState={() => <p className="px-2 py-6 text-center text-ink-3">No matches</p>}
              >
                {groups
                  .filter(({ commands }) => commands.length > 0)
                  .map((group) => (
                    <MenuSection key={group.id} className="mb-1.5 last:mb-0">
                      <Header className="px-2 py-1 text-xs text-ink-3">{group.title}</Header>
                      {group.commands.map((command) => (
                        <Item key={command.id} command={command} />
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

function Item({ command }: { command: Command }) {
  const { id, label, keys, isMono, run } = command
  return (
    <MenuItem id={id} textValue={label} onAction={run} className={itemClass}>
      <span className={isMono ? 'flex-1 truncate font-mono text-code' : 'flex-1 truncate'}>{label}</span>
      {keys && <Kbd keys={keys} />}
    </MenuItem>
  )
}
