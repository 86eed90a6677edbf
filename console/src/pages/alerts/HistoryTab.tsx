import type { AlertEvent } from '@shoal/contract'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { Prefetch } from '../../api/prefetch.ts'
import { useOrg } from '../../api/active-org.ts'
import type { Column } from '../../components/data-table/columns.ts'
import { DataTable } from '../../components/data-table/DataTable.tsx'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { formatSpan } from '../../components/squid/sync.ts'
import { formatDateTime, emptyValue } from '../../lib/format.ts'
import { alertColumns } from './alert-columns.tsx'
import { ShowOlder } from '../../components/ShowOlder.tsx'
import { endedQuery } from './queries.ts'

export const prefetch: Prefetch = ({ client, org }) => void client.prefetchInfiniteQuery(endedQuery(org.code))

const columns: Column<AlertEvent>[] = [
  ...alertColumns,
  {
    id: 'duration',
    header: 'Duration',
    width: '90px',
    isNumber: true,
    cell: ({ startedAt, endedAt }) =>
      endedAt === null ? (
        emptyValue
      ) : (
        <span data-tip={`${formatDateTime(startedAt)} – ${formatDateTime(endedAt)}`}>
          {formatSpan((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)}
        </span>
      ),
  },
  {
    id: 'ended',
    header: 'Ended',
    width: '124px',
    hideBelow: 'sm',
    cell: ({ endedAt }) => endedAt !== null && <RelativeTime at={endedAt} />,
  },
]

/** The list of ended alerts. */
export default function HistoryTab() {
  const { data, error, refetch, ...pagination } = useInfiniteQuery(endedQuery(useOrg().code))
  const rows = useMemo(() => data?.pages.flat(), [data])
  if (error && !data)
    return <ErrorState what="The history could not be loaded" error={error} onRetry={() => void refetch()} />
  return (
    <>
      <DataTable
        label="Alerts that ended"
        columns={columns}
        rows={rows}
        idOf={({ id }) => String(id)}
        hasTallRows
        empty={<EmptyState title="No ended alerts yet" text="Alerts move here when their cause is resolved." />}
      />
      <ShowOlder {...pagination} />
    </>
  )
}
