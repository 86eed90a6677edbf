import type { AlertEvent } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { ArrowRight, BellOff } from 'lucide-react'
import { useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { openAlertsQuery } from '../../api/alerts.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { useDeniedReason } from '../../components/access.tsx'
import type { Column } from '../../components/data-table/columns.ts'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { buttonClass } from '../../ui/Button.tsx'
import type { MenuAction } from '../../ui/Menu.tsx'
import { alertColumns } from './alert-columns.tsx'
import { MuteDialog } from './MuteDialog.tsx'

export const prefetch: Prefetch = ({ client, org }) => void client.prefetchQuery(openAlertsQuery(org.code))

const columns: Column<AlertEvent>[] = [
  ...alertColumns,
  {
    id: 'started',
    header: 'Started',
    width: '124px',
    hideBelow: 'sm',
    cell: ({ startedAt }) => <RelativeTime at={startedAt} />,
  },
]

/** The list of open alerts, the most severe first. */
export default function OpenTab() {
  const { code } = useOrg()
  const { data, error, refetch } = useQuery(openAlertsQuery(code))
  const [alertToMute, setAlertToMute] = useState<AlertEvent | null>(null)
  const muteDeniedReason = useDeniedReason('squids.write')
  const navigate = useNavigate()
  const menuOf = (alert: AlertEvent) => ({
    label: `Actions for ${alert.label}`,
    groups: [{ id: 'alert', actions: [muteAction(alert), ...navigationActions(alert)] }],
  })
  const muteAction = (alert: AlertEvent): MenuAction => ({
    id: 'mute',
    label: 'Mute',
    icon: <BellOff size={16} />,
    disabledReason: muteDeniedReason,
    onAction: () => setAlertToMute(alert),
  })
  const navigationActions = ({ squid }: AlertEvent): MenuAction[] =>
    squid === null || squid.isDeleted
      ? []
      : [
          {
            id: 'logs',
            label: 'Show logs',
            icon: <ArrowRight size={16} />,
            onAction: () =>
              void navigate({
                to: '/squids/$squidName/$squidSlot/logs',
                params: { squidName: squid.name, squidSlot: squid.slot },
              }),
          },
        ]
  if (error && data === undefined)
    return <ErrorState what="The alerts could not be loaded" error={error} onRetry={() => void refetch()} />
  return (
    <>
      <DataTable
        label="Open alerts"
        columns={columns}
        rows={data}
        idOf={({ id }) => String(id)}
        nameOf={({ label }) => label}
        hasTallRows
        menuOf={menuOf}
        loadingRows={3}
        empty={
          <EmptyState
            title="No open alerts"
            text="Shoal monitors your squids continuously. Crash loops, stalls, full databases and failed deployments appear here within a minute, and your channels are notified."
            action={
              <div className="flex flex-wrap justify-center gap-2">
                <Link to="/monitoring/alerts/rules" className={buttonClass()}>
                  See the rules
                </Link>
                <Link to="/monitoring/alerts/channels" className={buttonClass()}>
                  Choose who is notified
                </Link>
              </div>
            }
          />
        }
      />
      {alertToMute && <MuteDialog subject={alertToMute} onClose={() => setAlertToMute(null)} />}
    </>
  )
}
