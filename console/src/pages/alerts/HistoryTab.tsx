import { useInfiniteQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { endedAlertColumns } from './alert-columns.tsx'
import { endedQuery } from './queries.ts'

export const prefetch: Prefetch = ({ client, org }) => void client.prefetchInfiniteQuery(endedQuery(org.code))

/** The list of ended alerts. */
export default function HistoryTab() {
  return (
    <QueryTable
      label="Alerts that ended"
      what="The history"
      query={useInfiniteQuery(endedQuery(useOrg().code))}
      columns={endedAlertColumns}
      idOf={({ id }) => String(id)}
      empty={{ title: 'No ended alerts yet', text: 'Alerts move here when their cause is resolved.' }}
    />
  )
}
