import type { OperatorUser, Session } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { LogOut } from 'lucide-react'
import { useApiMutation } from '../../api/mutation.ts'
import { actionsOn, useMembership, type ActionOn } from '../../components/actions.ts'
import { confirm, type ConfirmRequest } from '../../components/confirm.ts'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { LazyDialog } from '../../components/LazyDialog.tsx'
import { sessionColumns } from '../../components/session-columns.tsx'
import { deviceOf } from '../../lib/device.ts'
import { Button } from '../../ui/Button.tsx'
import { sessionsQuery } from './queries.ts'
import { useWithRecentPassword } from './use-with-recent-password.tsx'

const sessionActions = {
  end: {
    label: 'End session',
    icon: LogOut,
    isDanger: true,
    disabledReason: ({ isCurrent }) => (isCurrent ? 'You use this session now. Sign out to end it.' : null),
    run: (session, { end }) => end(session),
  },
} satisfies Record<string, ActionOn<Session, { end: (session: Session) => void }>>

const nameOf = ({ userAgent }: Session) => deviceOf(userAgent)
const rowsOf = ({ sessions }: { sessions: Session[] }) => sessions
const idOf = ({ id }: Session) => id
const empty = { title: 'No sessions', text: 'The user is not signed in anywhere. API tokens are not sessions.' }

type Props = {
  user: OperatorUser
  onClose: () => void
  /** Opens this dialog again, after the form for the password has replaced it. */
  onReopen: () => void
}

/** The sessions of a user with their devices and addresses, each of which the operator can end. */
export function SessionsDialog({ user, onClose, onReopen }: Props) {
  const id = String(user.id)
  const sessions = useQuery({ ...sessionsQuery(id), select: rowsOf })
  const withRecentPassword = useWithRecentPassword()
  const options = {
    invalidates: ['operators.listSessions' as const, 'operators.listUsers' as const],
    errorDisplay: 'caller' as const,
  }
  const endOne = useApiMutation('operators.endSession', options)
  const endAll = useApiMutation('operators.endSessions', options)
  const confirmWithPassword = (request: ConfirmRequest) =>
    void withRecentPassword(() => {
      onReopen()
      confirm(request)
    })
  const context = {
    membership: useMembership(),
    end: (session: Session) =>
      confirmWithPassword({
        title: `End the session of ${user.email}?`,
        body: `${[deviceOf(session.userAgent), session.ip].filter(Boolean).join(', ')} is signed out. The user can sign in again.`,
        confirmLabel: 'End session',
        isDanger: true,
        action: () => endOne.mutateAsync({ params: { id, sessionId: session.id } }),
      }),
  }
  const confirmEndAll = () =>
    confirmWithPassword({
      title: `End all sessions of ${user.email}?`,
      body: 'All browsers of the user are signed out, except yours. API tokens keep working, and the user can sign in again.',
      confirmLabel: 'End all sessions',
      isDanger: true,
      action: () => endAll.mutateAsync({ params: { id } }),
    })
  const hasOthers = sessions.data?.some(({ isCurrent }) => !isCurrent) ?? false
  return (
    <LazyDialog
      title={`Sessions of ${user.email}`}
      isOpen
      onClose={onClose}
      width="wide"
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          {hasOthers && (
            <Button variant="danger" onClick={confirmEndAll}>
              End all sessions
            </Button>
          )}
        </>
      }
    >
      <div className="mt-2">
        <QueryTable
          label="Sessions"
          query={sessions}
          columns={sessionColumns}
          idOf={idOf}
          nameOf={nameOf}
          actions={(session) => actionsOn(sessionActions, session, context)}
          empty={empty}
          loadingRows={2}
        />
      </div>
    </LazyDialog>
  )
}
