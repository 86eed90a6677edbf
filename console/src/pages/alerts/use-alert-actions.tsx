import type { AlertEvent } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { ArrowRight, BellOff } from 'lucide-react'
import { actionsOn, useMembership, type ActionOn } from '../../components/actions.ts'
import { openDialog } from '../../components/open-dialog.ts'
import { MuteDialog } from './MuteDialog.tsx'

type AlertContext = { showLogs: (alert: AlertEvent) => void }

/** The actions on an open alert. */
const alertActions = {
  mute: {
    label: 'Mute',
    icon: BellOff,
    permission: 'squids.write',
    run: (alert) => openDialog((close) => <MuteDialog subject={alert} onClose={close} />),
  },
  showLogs: {
    label: 'Show logs',
    icon: ArrowRight,
    appliesTo: ({ squid }) => squid !== null && !squid.isDeleted,
    run: (alert, { showLogs }) => showLogs(alert),
  },
} satisfies Record<string, ActionOn<AlertEvent, AlertContext>>

/** Returns a function that returns the actions on an open alert, bound to the current user. */
export function useAlertActions() {
  const navigate = useNavigate()
  const context = {
    membership: useMembership(),
    showLogs: ({ squid }: AlertEvent) =>
      squid &&
      void navigate({
        to: '/squids/$squidName/$squidSlot/logs',
        params: { squidName: squid.name, squidSlot: squid.slot },
      }),
  }
  return (alert: AlertEvent) => actionsOn(alertActions, alert, context)
}
