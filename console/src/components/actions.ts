import { reasonDenied, type Membership, type Permission } from '@shoal/contract'
import type { LucideIcon } from 'lucide-react'
import { useOrg } from '../api/active-org.ts'
import type { Action } from '../ui/action.ts'
import { membershipOf } from './access.tsx'
import { confirm, type ConfirmRequest } from './confirm.ts'

/**
 * An action on a subject such as a version or a secret. The actions of a subject are the entries of one table, which row
 * menus, headers and the command palette share. `C` is the context with the functions that they call, such as mutations.
 */
export type ActionOn<S, C> = {
  label: string
  icon?: LucideIcon
  section?: Action['section']
  hint?: (subject: S, context: C) => Action['hint']
  isDanger?: boolean
  /** Users without it see the action disabled, with the reason. */
  permission?: Permission
  /** Whether the subject has the action at all. */
  appliesTo?: (subject: S, context: C) => boolean
  /** Why no user can run it on this subject; takes precedence over a missing permission. */
  impossibleReason?: (subject: S, context: C) => string | null
  /** Why it cannot run now; null if it can. */
  disabledReason?: (subject: S, context: C) => string | null
  /** The confirmation before it runs. The dialog stays open until the promise of `run` settles, and shows its error. */
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
      const question = entry.confirm?.(subject, context)
      if (question) confirm({ ...question, isDanger, action: async () => entry.run(subject, context) })
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
