import type { Deployment } from '@shoal/contract'
import { useNavigate } from '@tanstack/react-router'
import { List, Undo2 } from 'lucide-react'
import { useMemo } from 'react'
import type { Prefetch } from '../../../api/prefetch.ts'
import { DataTable } from '../../../components/data-table/DataTable.tsx'
import { ShowOlder } from '../../../components/ShowOlder.tsx'
import { EmptyState } from '../../../components/EmptyState.tsx'
import { ErrorState } from '../../../components/ErrorState.tsx'
import { deploymentColumns } from './deployment-columns.tsx'
import { deploymentsQuery, useDeployments } from './use-deployments.ts'
import { useRollback } from './use-rollback.tsx'
import { prefetchVersion, useVersion, type VersionPath } from '../use-version.ts'

export const prefetch: Prefetch<VersionPath> = (context) =>
  prefetchVersion(
    context,
    ({ id }) => void context.client.prefetchInfiniteQuery(deploymentsQuery(context.org.code, String(id))),
  )

/** All deployments of the version, newest first (spec 2.9). */
export default function DeploymentsTab() {
  const squid = useVersion()
  const navigate = useNavigate({ from: '/squids/$squidName/$squidSlot/deployments' })
  const rollback = useRollback(squid)
  const { data, error, refetch, ...pagination } = useDeployments()
  const rows = useMemo(() => data?.pages.flat(), [data])

  const open = ({ id }: Deployment) =>
    void navigate({ to: '/squids/$squidName/$squidSlot/deployments/$deployId', params: { deployId: String(id) } })
  const menuOf = (deployment: Deployment) => ({
    label: `Actions for deployment ${deployment.id}`,
    groups: [
      {
        id: 'deployment',
        actions: [
          { id: 'open', label: 'Show log', icon: <List size={16} />, onAction: () => open(deployment) },
          {
            id: 'rollback',
            label: 'Roll back to this',
            icon: <Undo2 size={16} />,
            disabledReason: rollback.disabledReasonFor(deployment),
            onAction: () => rollback.confirm(deployment),
          },
        ],
      },
    ],
  })

  if (error && !data)
    return <ErrorState what="The deployments could not be loaded" error={error} onRetry={() => void refetch()} />
  return (
    <>
      <DataTable
        label="Deployments"
        columns={deploymentColumns}
        rows={rows}
        idOf={({ id }) => String(id)}
        nameOf={({ id }) => `deployment ${id}`}
        onOpen={open}
        menuOf={menuOf}
        empty={<EmptyState title="Deploys not found" text="Deployments of this version are listed here." />}
      />
      <ShowOlder {...pagination} />
    </>
  )
}
