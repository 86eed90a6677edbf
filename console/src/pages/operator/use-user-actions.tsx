import type { OperatorUser } from '@shoal/contract'
import { Mail, MonitorSmartphone, UserRoundCheck, UserRoundX } from 'lucide-react'
import { useApiMutation } from '../../api/mutation.ts'
import { useUser } from '../../api/session.ts'
import { actionsOn, useMembership, type ActionOn } from '../../components/actions.ts'
import { confirm, type ConfirmRequest } from '../../components/confirm.ts'
import { openDialog } from '../../components/open-dialog.ts'
import { toast } from '../../lib/toasts.ts'
import { SessionsDialog } from './dialogs.ts'
import { useWithRecentPassword } from './use-with-recent-password.tsx'

type UserContext = {
  ownEmail: string
  disable: (user: OperatorUser) => void
  enable: (user: OperatorUser) => void
  resend: (user: OperatorUser) => void
}

/** The operator's actions on an account. */
const userActions = {
  sessions: {
    label: 'Sessions',
    icon: MonitorSmartphone,
    run: (user) => openSessions(user),
  },
  resend: {
    label: 'Send confirmation again',
    icon: Mail,
    appliesTo: ({ emailVerified }) => !emailVerified,
    run: (user, { resend }) => resend(user),
  },
  disable: {
    label: 'Disable',
    icon: UserRoundX,
    isDanger: true,
    appliesTo: ({ disabledAt }) => disabledAt === null,
    disabledReason: ({ email }, { ownEmail }) => (email === ownEmail ? 'You cannot disable your own account.' : null),
    run: (user, { disable }) => disable(user),
  },
  enable: {
    label: 'Enable',
    icon: UserRoundCheck,
    appliesTo: ({ disabledAt }) => disabledAt !== null,
    run: (user, { enable }) => enable(user),
  },
} satisfies Record<string, ActionOn<OperatorUser, UserContext>>

const openSessions = (user: OperatorUser) =>
  openDialog((close) => <SessionsDialog user={user} onClose={close} onReopen={() => openSessions(user)} />)

const mutationOptions = { invalidates: ['operators.listUsers' as const], errorDisplay: 'caller' as const }

/** Returns a function that returns the actions on an account. */
export function useUserActions() {
  const withRecentPassword = useWithRecentPassword()
  const disable = useApiMutation('operators.disableUser', mutationOptions)
  const enable = useApiMutation('operators.enableUser', mutationOptions)
  const resend = useApiMutation('operators.resendConfirmation', {
    ...mutationOptions,
    onSuccess: () => toast({ tone: 'good', title: 'The email has been sent' }),
  })
  const confirmWithPassword = (request: ConfirmRequest) => void withRecentPassword(() => confirm(request))
  const callOf = ({ id }: OperatorUser) => ({ params: { id: String(id) } })
  const context = {
    membership: useMembership(),
    ownEmail: useUser().email,
    disable: (user: OperatorUser) =>
      confirmWithPassword({
        title: `Disable ${user.email}?`,
        body: 'All sessions of the account end, and its API tokens and sign-ins are refused. Its organizations and squids stay.',
        confirmLabel: 'Disable',
        isDanger: true,
        action: () => disable.mutateAsync(callOf(user)),
      }),
    enable: (user: OperatorUser) =>
      confirmWithPassword({
        title: `Enable ${user.email}?`,
        body: 'The user can sign in again, and API tokens of the account work again.',
        confirmLabel: 'Enable',
        action: () => enable.mutateAsync(callOf(user)),
      }),
    resend: (user: OperatorUser) =>
      confirmWithPassword({
        title: `Send the confirmation to ${user.email} again?`,
        body: 'The email has a new link. Earlier links stay valid.',
        confirmLabel: 'Send',
        action: () => resend.mutateAsync(callOf(user)),
      }),
  }
  return (user: OperatorUser) => actionsOn(userActions, user, context)
}
