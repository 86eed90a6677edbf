import type { AlertEvent } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { BellOff } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useOrg } from '../../../api/active-org.ts'
import { openAlertsQuery } from '../../../api/alerts.ts'
import { useWhyNot } from '../../../components/Can.tsx'
import type { Column } from '../../../components/data-table/columns.ts'
import { DataTable } from '../../../components/data-table/DataTable.tsx'
import { EmptyState } from '../../../components/EmptyState.tsx'
import { ErrorState } from '../../../components/ErrorState.tsx'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { buttonClass } from '../../../ui/Button.tsx'
import { IconButton } from '../../../ui/IconButton.tsx'
import { alertColumns } from '../alert-columns.tsx'
import { MuteDialog } from '../mutes/MuteDialog.tsx'

/** What is wrong now, the worst first. */
export default function OpenTab() {
  const { code } = useOrg()
  const { data, error, refetch } = useQuery(openAlertsQuery(code))
  const [muted, setMuted] = useState<AlertEvent | null>(null)
  const whyNotMute = useWhyNot('squids.write')
  const columns = useMemo(() => columnsWith(whyNotMute, setMuted), [whyNotMute])
  if (error && data === undefined)
    return <ErrorState what="The alerts could not be loaded" error={error} onRetry={() => void refetch()} />
  return (
    <>
      <DataTable
        label="Open alerts"
        columns={columns}
        rows={data}
        idOf={({ id }) => String(id)}
        loadingRows={3}
        empty={
          <EmptyState
            title="No open alerts"
            text="Squids are watched all the time. Crash loops, stalls, full databases and failed deployments appear here within a minute, and your channels are told."
            action={
              <div className="flex flex-wrap justify-center gap-2">
                <Link to="/monitoring/alerts/rules" className={buttonClass()}>
                  See the rules
                </Link>
                <Link to="/monitoring/alerts/channels" className={buttonClass()}>
                  Choose who is told
                </Link>
              </div>
            }
          />
        }
      />
      {muted && <MuteDialog about={muted} onClose={() => setMuted(null)} />}
    </>
  )
}

const columnsWith = (whyNotMute: string | null, onMute: (alert: AlertEvent) => void): Column<AlertEvent>[] => [
  ...alertColumns,
  {
    id: 'began',
    header: 'Began',
    width: '124px',
    foldBelow: 'sm',
    cell: ({ startedAt }) => <RelativeTime at={startedAt} />,
  },
  {
    id: 'mute',
    header: 'Mute',
    width: '64px',
    cell: (alert) => (
      <IconButton
        label={`Mute ${alert.label}`}
        size={28}
        icon={<BellOff size={15} aria-hidden />}
        disabledReason={whyNotMute}
        onClick={() => onMute(alert)}
      />
    ),
  },
]
