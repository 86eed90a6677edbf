import { isValidElement, type ReactNode, type RefObject } from 'react'
import { Header, Menu as AriaMenu, MenuItem, MenuSection, Popover } from 'react-aria-components'
import type { Action, ActionGroup } from './action.ts'
import { cx } from './classes.ts'
import { dangerItemClass, itemClass, popoverClass } from './control-classes.ts'

export type MenuProps = {
  /** Accessible name. */
  label: string
  groups: readonly ActionGroup[]
  /** The element next to which the menu opens, and which regains the focus when it closes. */
  triggerRef: RefObject<Element | null>
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  placement?: 'bottom start' | 'bottom end' | 'right top'
  header?: ReactNode
}

/** A menu that opens next to any element. The caller renders the trigger, a plain button (`MenuButton`, a row of a table). */
export default function Menu({
  label,
  groups,
  triggerRef,
  isOpen,
  onOpenChange,
  placement = 'bottom end',
  header,
}: MenuProps) {
  return (
    <Popover
      aria-label={label}
      triggerRef={triggerRef}
      isOpen={isOpen}
      onOpenChange={onOpenChange}
      placement={placement}
      offset={4}
      className={cx(popoverClass, 'min-w-48')}
    >
      {header}
      <AriaMenu aria-label={label} autoFocus="first" onClose={() => onOpenChange(false)} className="outline-none">
        {groups.map((group, index) => (
          <MenuSection
            key={group.title ?? index}
            aria-label={group.title ?? label}
            className={cx(index > 0 && 'mt-1 border-t border-line pt-1')}
          >
            {group.title && <Header className="px-2 pt-1 pb-0.5 text-xs text-ink-3">{group.title}</Header>}
            {group.actions.map((action) => (
              <Item key={action.id ?? action.label} action={action} />
            ))}
          </MenuSection>
        ))}
      </AriaMenu>
    </Popover>
  )
}

function Item({ action }: { action: Action }) {
  const { label, id = label, icon: Icon, hint, isDanger = false, disabledReason = null, run } = action
  return (
    <MenuItem
      id={id}
      textValue={label}
      isDisabled={disabledReason !== null}
      onAction={run}
      className={isDanger && disabledReason === null ? dangerItemClass : itemClass}
    >
      {Icon && (
        <span className="grid min-w-4 shrink-0 place-items-center text-ink-3 group-data-disabled:opacity-60">
          {isValidElement(Icon) ? Icon : <Icon size={16} aria-hidden />}
        </span>
      )}
      <span className="min-w-0 flex-1">
        <span className="block truncate">{label}</span>
        {disabledReason !== null && <span className="block text-xs text-ink-3">{disabledReason}</span>}
      </span>
      {hint}
    </MenuItem>
  )
}
