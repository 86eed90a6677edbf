import type { LucideIcon } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'

/** An action of the user: an entry of a menu, a button, a command of the palette or a shortcut. */
export type Action = {
  label: string
  /** Necessary only if another action of the menu may have the same label. */
  id?: string
  icon?: LucideIcon | ReactElement
  /** The keys of the action's shortcut, as in `Hotkey`. */
  keys?: string
  /** Shown on the right in menus: a shortcut, a check mark, a plan. */
  hint?: ReactNode
  /** The heading under which menus show the action. */
  section?: string
  isDanger?: boolean
  /** Why the action is disabled; null or undefined if it is enabled. */
  disabledReason?: string | null
  run: () => void
}

export type ActionGroup = { title?: string; actions: readonly Action[] }

/** The groups of a menu: those with a heading, then the others, and the dangerous ones last. */
export function groupsOf(actions: readonly Action[]): ActionGroup[] {
  const rank = ({ section, isDanger = false }: Action) => (section === undefined ? (isDanger ? 2 : 1) : 0)
  const groups = Map.groupBy(actions, (action) => `${rank(action)}${action.section ?? ''}`)
  return [...groups]
    .toSorted(([a], [b]) => Number(a[0]) - Number(b[0]))
    .map(([, members]) => ({
      ...(members[0]?.section !== undefined && { title: members[0].section }),
      actions: members,
    }))
}
