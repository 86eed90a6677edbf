import { useQuery } from '@tanstack/react-query'
import type { Prefetch } from '../../api/prefetch.ts'
import { QueryTable } from '../../components/data-table/QueryTable.tsx'
import { deploymentColumns } from './deployment-columns.tsx'
import { runningQuery } from './overview-queries.ts'

export const prefetch: Prefetch = ({ client }) => void client.prefetchQuery(runningQuery)

const empty = {
  title: 'No deployments are running',
  text: 'Running deployments of all organizations are listed here with their current step, the oldest first.',
}

/** The list of the deployments of all organizations that have not ended. */
export default function DeploymentsTab() {
  return (
    <QueryTable
      label="Deployments"
      query={useQuery({ ...runningQuery, select: ({ deployments }) => deployments })}
      columns={deploymentColumns}
      idOf={({ id }) => String(id)}
      empty={empty}
    />
  )
}
