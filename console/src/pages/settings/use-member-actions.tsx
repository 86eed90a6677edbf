import { roleTypes, type Org, type Role, type RoleType } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { Check } from 'lucide-react'
import { orgTitle } from '../../api/active-org.ts'
import { errorText, hasStatus } from '../../api/error-text.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seedRole } from '../../api/roles.ts'
import { seed } from '../../api/seed.ts'
import { useUser } from '../../api/session.ts'
import { membershipOf } from '../../components/access.tsx'
import { actionOn, actionsOn, type ActionOn } from '../../components/actions.ts'
import { roleLabels } from '../../components/role-options.ts'
import { toast } from '../../lib/toasts.ts'

type MemberContext = {
  orgName: string
  /** Whether the role is the user's own membership. */
  isOwn: (role: Role) => boolean
  changeRole: (role: Role, type: RoleType) => void
  remove: (role: Role) => Promise<unknown>
  leave: (role: Role) => Promise<unknown>
}

/** The action that changes the role of a member to `type`. */
const roleAction = (type: RoleType): ActionOn<Role, MemberContext> => ({
  label: roleLabels[type],
  section: 'Role',
  permission: 'role.write',
  hint: (role) => role.type === type && <Check size={14} aria-label="Current role" className="text-accent" />,
  impossibleReason: (role, { isOwn }) => (isOwn(role) ? 'You cannot change your own role.' : null),
  disabledReason: ({ status }) =>
    status === 'invited' ? 'Remove the invitation and invite again to change it.' : null,
  run: (role, { changeRole }) => role.type !== type && changeRole(role, type),
})

/** The actions on a member of the organization, or on an invitation. */
const memberActions = {
  ...Object.fromEntries(roleTypes.map((type) => [type, roleAction(type)])),
  leave: {
    label: 'Leave organization',
    isDanger: true,
    appliesTo: (role, { isOwn }) => isOwn(role),
    confirm: (_, { orgName }) => ({
      title: `Leave ${orgName}?`,
      body: 'You lose all access to this organization. Its squids keep running.',
      confirmLabel: 'Leave organization',
    }),
    run: (role, { leave }) => leave(role),
  },
  remove: {
    label: 'Remove user',
    isDanger: true,
    permission: 'role.write',
    appliesTo: (role, { isOwn }) => !isOwn(role),
    confirm: ({ status, email }, { orgName }) => ({
      title: status === 'invited' ? `Withdraw the invitation to ${email}?` : `Remove ${email}?`,
      body:
        status === 'invited'
          ? 'The link in the email will no longer work.'
          : `They lose all access to ${orgName}. Squids they deployed are kept.`,
      confirmLabel: 'Remove user',
    }),
    run: (role, { remove }) => remove(role),
  },
} satisfies Record<string, ActionOn<Role, MemberContext>>

/** The actions on members and invitations of the organization, bound to the current user. */
export function useMemberActions(org: Org) {
  const user = useUser()
  const navigate = useNavigate()
  const change = useApiMutation('orgs.changeRole', {
    invalidates: ['orgs.listRoles'],
    seeds: (client, changed) => seedRole(client, org.code, changed),
    onSuccess: ({ email, type }) =>
      toast({ tone: 'good', title: `${email} now has the role ${roleLabels[type].toLowerCase()}` }),
  })
  const remove = useApiMutation('orgs.removeMember', {
    invalidates: ['orgs.listRoles'],
    seeds: (client, removed) =>
      seed(client, 'orgs.listRoles', { params: { code: org.code } }, (all) =>
        all.filter(({ id }) => id !== removed.id),
      ),
    errorDisplay: 'caller',
  })
  const leave = useApiMutation('orgs.removeMember', {
    invalidates: ['user.get'],
    errorDisplay: 'caller',
    onSuccess: () => navigate({ to: '/squids' }),
  })
  const params = ({ id }: Role) => ({ code: org.code, id: String(id) })
  const isOwn = (role: Role) => role.status === 'accepted' && role.email === user.email
  const context = {
    membership: membershipOf(org),
    orgName: orgTitle(org),
    isOwn,
    changeRole: (role: Role, roleType: RoleType) => change.mutate({ params: params(role), body: { roleType } }),
    remove: (role: Role) => remove.mutateAsync({ params: params(role) }),
    leave: (role: Role) => leave.mutateAsync({ params: params(role) }).catch(toastLastAdmin),
  }
  return {
    isOwn,
    leaveOf: (role: Role) => actionOn(memberActions.leave, role, context),
    actionsOf: (role: Role) => actionsOn(memberActions, role, context),
  }
}

/**
 * Shows a toast if the user is the last administrator. The dialog closes, because the user must first act on another page (spec 6, 8).
 * Throws other errors again.
 */
function toastLastAdmin(error: unknown): void {
  if (!hasStatus(error, 405)) throw error
  toast({
    tone: 'warn',
    title: errorText(error),
    message: 'You are the last administrator. Please assign another admin before you leave.',
  })
}
