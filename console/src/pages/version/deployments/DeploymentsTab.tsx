import { useInfiniteQuery } from '@tanstack/react-query'
import { deploymentsQuery } from '../../../api/deployments.ts'
import type { Prefetch } from '../../../api/prefetch.ts'
import { prefetchVersion, type VersionPath } from '../../../api/version.ts'
import { QueryTable } from '../../../components/data-table/QueryTable.tsx'
import { useDeploymentActions } from '../../../components/squid/deployment-actions.tsx'
import { useVersion, useVersionParams } from '../use-version.ts'
import { deploymentColumns } from './deployment-columns.tsx'

export const prefetch: Prefetch<VersionPath> = (context) =>
  prefetchVersion(
    context,
    ({ id }) => void context.client.prefetchInfiniteQuery(deploymentsQuery(context.org.code, String(id))),
  )

/** The list of all deployments of the version, newest first (spec 2.9). */
export default function DeploymentsTab() {
  const squid = useVersion()
  const deployments = useInfiniteQuery(deploymentsQuery(useVersionParams().code, String(squid.id)))
  const { open, actionsOf } = useDeploymentActions(squid)
  return (
    <QueryTable
      label="Deployments"
      query={deployments}
      columns={deploymentColumns}
      idOf={({ id }) => String(id)}
      nameOf={({ id }) => `deployment ${id}`}
      onOpen={open}
      actions={actionsOf}
      empty={{ title: 'Deploys not found', text: 'Deployments of this version are listed here.' }}
    />
  )
}
