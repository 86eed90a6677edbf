import { reasonDenied, type Membership, type Permission } from '@shoal/contract'
import type { LucideIcon } from 'lucide-react'
import { useOrg } from '../api/active-org.ts'
import type { Action } from '../ui/action.ts'
import { membershipOf } from './access.tsx'
import { confirm, type ConfirmRequest } from './confirm.ts'

/**
 * An action on a subject of type `S`, such as a version or a secret. The actions on a kind of subject are the entries of one table, which
 * row menus, headers and the command palette share. `C` is the context, with the functions that actions call, such as mutations.
 */
export type ActionOn<S, C> = {
  label: string
  icon?: LucideIcon
  section?: Action['section']
  hint?: (subject: S, context: C) => Action['hint']
  isDanger?: boolean
  /** For users without this permission, the action is disabled, with the reason. */
  permission?: Permission
  /** Whether the subject has the action at all; by default, it does. */
  appliesTo?: (subject: S, context: C) => boolean
  /** Why no user can run the action on this subject; null if they can. Takes precedence over a missing permission. */
  impossibleReason?: (subject: S, context: C) => string | null
  /** Why the action cannot run now; null if it can. */
  disabledReason?: (subject: S, context: C) => string | null
  /**
   * The confirmation before the action runs. The dialog stays open until the promise of `run` is fulfilled, and shows the error if it is
   * rejected.
   */
  confirm?: (subject: S, context: C) => Pick<ConfirmRequest, 'title' | 'body' | 'confirmLabel' | 'typedName'>
  run: (subject: S, context: C) => unknown
}

/** The context of actions, and the user's membership, which determines the permissions. */
export type ActionContext<C> = C & { membership: Membership }

/** One action, bound to its subject. */
export function actionOn<S, C>(entry: ActionOn<S, C>, subject: S, context: ActionContext<C>): Action {
  const { label, icon, section, hint, isDanger = false, permission } = entry
  const deniedReason = permission === undefined ? null : reasonDenied(context.membership, permission)
  return {
    label,
    isDanger,
    ...(icon && { icon }),
    ...(section !== undefined && { section }),
    ...(hint && { hint: hint(subject, context) }),
    disabledReason:
      entry.impossibleReason?.(subject, context) ?? deniedReason ?? entry.disabledReason?.(subject, context) ?? null,
    run: () => {
      const confirmation = entry.confirm?.(subject, context)
      if (confirmation) confirm({ ...confirmation, isDanger, action: async () => entry.run(subject, context) })
      else void entry.run(subject, context)
    },
  }
}

/** The actions that the subject has, in the order of the table. */
export const actionsOn = <S, C>(
  table: Record<string, ActionOn<S, C>>,
  subject: S,
  context: ActionContext<C>,
): Action[] =>
  Object.values(table)
    .filter(({ appliesTo }) => appliesTo?.(subject, context) ?? true)
    .map((entry) => actionOn(entry, subject, context))

/** The user's rights in the active organization, for the context of actions. */
export const useMembership = (): Membership => membershipOf(useOrg())
