import { reasonDenied, type Org, type Role, type RoleType } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { orgTitle } from '../../api/active-org.ts'
import { errorText, hasStatus } from '../../api/error-text.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { seedRole } from '../../api/roles.ts'
import { seed } from '../../api/seed.ts'
import { useUser } from '../../api/session.ts'
import { membershipOf } from '../../components/access.tsx'
import { confirm } from '../../components/confirm.ts'
import { roleLabels } from '../../components/role-options.ts'
import { toast } from '../../lib/toasts.ts'

/** Actions on members, with confirmation dialogs. The user's own membership is identified by its email. */
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
  const leaveOrg = useApiMutation('orgs.removeMember', {
    invalidates: ['user.get'],
    errorDisplay: 'caller',
    onSuccess: () => navigate({ to: '/squids' }),
  })
  const isOwn = (role: Role) => role.status === 'accepted' && role.email === user.email
  const params = ({ id }: Role) => ({ code: org.code, id: String(id) })
  const deniedReason = reasonDenied(membershipOf(org), 'role.write')

  return {
    isOwn,
    roleDisabledReason: (role: Role): string | null => {
      if (isOwn(role)) return 'You cannot change your own role.'
      if (role.status === 'invited') return deniedReason ?? 'Remove the invitation and invite again to change it.'
      return deniedReason
    },
    deniedReason,
    changeRole: (role: Role, roleType: RoleType) => change.mutate({ params: params(role), body: { roleType } }),
    removeUser: (role: Role) =>
      confirm({
        title: role.status === 'invited' ? `Withdraw the invitation to ${role.email}?` : `Remove ${role.email}?`,
        body:
          role.status === 'invited'
            ? 'The link in the email will no longer work.'
            : `They lose all access to ${orgTitle(org)}. Squids they deployed are kept.`,
        confirmLabel: 'Remove user',
        isDanger: true,
        action: () => remove.mutateAsync({ params: params(role) }),
      }),
    leave: (role: Role) =>
      confirm({
        title: `Leave ${orgTitle(org)}?`,
        body: 'You lose all access to this organization. Its squids keep running.',
        confirmLabel: 'Leave organization',
        isDanger: true,
        action: () =>
          leaveOrg.mutateAsync({ params: params(role) }).catch((error: unknown) => {
            // A toast instead of an error in the dialog, since the user must first act on another page (spec 6, 8).
            if (!hasStatus(error, 405)) throw error
            toast({
              tone: 'warn',
              title: errorText(error),
              message: 'You are the last administrator. Please assign another admin before you leave.',
            })
          }),
      }),
  }
}
