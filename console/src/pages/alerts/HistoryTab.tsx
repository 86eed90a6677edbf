import type { AlertEvent } from '@shoal/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import type { Column } from '../../components/data-table/columns.ts'
import { numberColumn, timeColumn } from '../../components/data-table/named-columns.tsx'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { formatSpan } from '../../components/squid/sync.ts'
import { emptyValue, formatDateTime } from '../../lib/format.ts'
import { alertColumns } from './alert-columns.tsx'
import { endedQuery } from './queries.ts'

export const prefetch: Prefetch = ({ client, org }) => void client.prefetchInfiniteQuery(endedQuery(org.code))

const columns: Column<AlertEvent>[] = [
  ...alertColumns,
  numberColumn('Duration', (alert) => <AlertDuration alert={alert} />, { width: '90px' }),
  timeColumn('Ended', ({ endedAt }) => endedAt, { width: '124px', hideBelow: 'sm' }),
]

/** The list of ended alerts. */
export default function HistoryTab() {
  return (
    <QueryTable
      label="Alerts that ended"
      what="The history"
      query={useInfiniteQuery(endedQuery(useOrg().code))}
      columns={columns}
      idOf={({ id }) => String(id)}
      empty={{ title: 'No ended alerts yet', text: 'Alerts move here when their cause is resolved.' }}
    />
  )
}

/** How long an alert lasted; empty while it is open. */
function AlertDuration({ alert: { startedAt, endedAt } }: { alert: AlertEvent }) {
  if (endedAt === null) return emptyValue
  return (
    <span data-tip={`${formatDateTime(startedAt)} – ${formatDateTime(endedAt)}`}>
      {formatSpan((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)}
    </span>
  )
}
