import type { AlertEvent } from '@shoal/contract'
import { AlertSeverity } from '../../components/AlertSeverity.tsx'
import { TroubleshootingLink } from '../../components/TroubleshootingLink.tsx'
import type { Column } from '../../components/data-table/columns.ts'
import { numberColumn, timeColumn } from '../../components/data-table/named-columns.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { formatSpan } from '../../components/squid/sync.ts'
import { emptyValue, formatDateTime } from '../../lib/format.ts'
import { Badge } from '../../ui/Badge.tsx'
import { AlertSubject } from './AlertSubject.tsx'

const sharedColumns: readonly Column<AlertEvent>[] = [
  {
    id: 'severity',
    header: 'Severity',
    width: '104px',
    hideBelow: 'xs',
    cell: ({ severity }) => <AlertSeverity severity={severity} />,
  },
  {
    id: 'alert',
    header: 'Alert',
    cell: (alert) => (
      <div className="py-2 whitespace-normal">
        <p className="flex flex-wrap items-center gap-x-2 font-medium">
          <span className="xs:hidden">
            <AlertSeverity severity={alert.severity} />
          </span>
          {alert.label}
          {alert.isMuted && <Badge>Muted</Badge>}
        </p>
        <p className="break-words text-ink-2">
          {alert.reason} <TroubleshootingLink kind={alert.kind} />
        </p>
        <p className="mt-1 lg:hidden">
          <AlertSubject alert={alert} />
          <span className="text-ink-3 sm:hidden">
            {' · '}
            <RelativeTime at={alert.startedAt} />
          </span>
        </p>
      </div>
    ),
  },
  {
    id: 'subject',
    header: 'About',
    width: '230px',
    hideBelow: 'lg',
    cell: (alert) => <AlertSubject alert={alert} />,
  },
]

const timeLayout = { width: '124px', hideBelow: 'sm' } as const

/** The columns of open alerts. */
export const openAlertColumns: readonly Column<AlertEvent>[] = [
  ...sharedColumns,
  timeColumn('Started', ({ startedAt }) => startedAt, timeLayout),
]

/** The columns of ended alerts. */
export const endedAlertColumns: readonly Column<AlertEvent>[] = [
  ...sharedColumns,
  numberColumn('Duration', (alert) => <AlertDuration alert={alert} />, { width: '90px' }),
  timeColumn('Ended', ({ endedAt }) => endedAt, timeLayout),
]

/** How long an alert lasted; empty while it is open. */
function AlertDuration({ alert: { startedAt, endedAt } }: { alert: AlertEvent }) {
  if (endedAt === null) return emptyValue
  return (
    <span data-tip={`${formatDateTime(startedAt)} – ${formatDateTime(endedAt)}`}>
      {formatSpan((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)}
    </span>
  )
}
