import type { AlertEvent } from '@shoal/contract'
import { AlertSeverity } from '../../components/AlertSeverity.tsx'
import { TroubleshootingLink } from '../../components/TroubleshootingLink.tsx'
import type { Column } from '../../components/data-table/columns.ts'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { Badge } from '../../ui/Badge.tsx'
import { AlertSubject } from './AlertSubject.tsx'

/** The columns that open and ended alerts share. */
export const alertColumns: readonly Column<AlertEvent>[] = [
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
