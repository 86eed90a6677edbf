import { isInProgress, type Deployment } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { deploymentPolling } from '../../../api/deployments.ts'
import { pollWhile } from '../../../api/poll.ts'
import { q } from '../../../api/query.ts'
import { lastDeploymentOf } from './last-deployment.ts'
import { useVersion, useVersionParams } from '../use-version.ts'

const pollNewest = pollWhile<Deployment[]>((deployments) => deployments.some(isInProgress), deploymentPolling)

/** The number of newest deployments among which `lastDeploymentOf` finds the last one. */
const newestCount = 20

/** The newest deployments of a version, among which `lastDeploymentOf` finds the last one. */
export function newestQuery(code: string, squidId: string) {
  const query = { squidId, logs: 'false', limit: String(newestCount) } as const
  return q('deployments.list', { params: { code }, query }, { refetchInterval: pollNewest })
}

/** The last deployment of the version (`lastDeploymentOf`); undefined while loading, null if there is none. */
export function useLastDeployment(): Deployment | null | undefined {
  const { data } = useQuery(newestQuery(useVersionParams().code, String(useVersion().id)))
  return data && lastDeploymentOf(data)
}
