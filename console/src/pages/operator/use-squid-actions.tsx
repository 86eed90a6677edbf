import type { OperatorSquid } from '@shoal/contract'
import { Moon } from 'lucide-react'
import { actionsOn, useMembership, type ActionOn } from '../../components/actions.ts'
import { openDialog } from '../../components/open-dialog.ts'
import { HibernateDialog } from './dialogs.ts'
import { useWithRecentPassword } from './use-with-recent-password.tsx'

type SquidContext = { hibernate: (squid: OperatorSquid) => void }

const disabledReasons: Partial<Record<OperatorSquid['status'], string>> = {
  HIBERNATED: 'It is already hibernated.',
  DEPLOYING: 'A deployment is in progress.',
}

/** The operator's actions on a version of any organization. */
const squidActions = {
  hibernate: {
    label: 'Hibernate',
    icon: Moon,
    disabledReason: ({ status }) => disabledReasons[status] ?? null,
    run: (squid, { hibernate }) => hibernate(squid),
  },
} satisfies Record<string, ActionOn<OperatorSquid, SquidContext>>

/** Returns a function that returns the actions on a version. */
export function useSquidActions() {
  const withRecentPassword = useWithRecentPassword()
  const context = {
    membership: useMembership(),
    hibernate: (squid: OperatorSquid) =>
      void withRecentPassword(() => openDialog((close) => <HibernateDialog squid={squid} onClose={close} />)),
  }
  return (squid: OperatorSquid) => actionsOn(squidActions, squid, context)
}
