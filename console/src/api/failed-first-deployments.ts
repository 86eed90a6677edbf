import type { Deployment, SquidSummary } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { q } from './query.ts'

/** The latest deployments of an organization, newest first, without logs; polled every ten seconds (spec 9). */
export const useLatestDeployments = (code: string) =>
  useQuery(
    q('deployments.list', { params: { code }, query: { limit: '50', logs: 'false' } }, { refetchInterval: 10_000 }),
  )

const isFailedDeploy = ({ type, failed }: Deployment): boolean =>
  failed !== 'NO' && (type === 'DEPLOY' || type === 'DEPLOY_HARD_RESET')

/** The newest deployment of each version, by reference. */
function newestByReference(deployments: readonly Deployment[]): Map<string, Deployment> {
  const newest = new Map<string, Deployment>()
  for (const deployment of deployments) {
    const reference = deployment.squid?.reference
    if (reference !== undefined && !newest.has(reference)) newest.set(reference, deployment)
  }
  return newest
}

/**
 * The failed first deployment of a version; null if the newest deployment of this reference is not a failed deploy. The caller must have
 * checked that the version does not exist. `deployments` must be ordered newest first.
 */
export function failedFirstDeploymentOf(deployments: readonly Deployment[], reference: string): Deployment | null {
  const newest = newestByReference(deployments).get(reference)
  return newest && isFailedDeploy(newest) ? newest : null
}

/** Failed first deployments since `sinceMs` that were not retried, newest first. `squids` are the versions that exist. */
export function failedFirstDeployments(
  deployments: readonly Deployment[],
  squids: readonly Pick<SquidSummary, 'reference'>[],
  sinceMs: number,
): Deployment[] {
  const existing = new Set(squids.map(({ reference }) => reference))
  return [...newestByReference(deployments)].flatMap(([reference, newest]) =>
    !existing.has(reference) && isFailedDeploy(newest) && Date.parse(newest.createdAt) >= sinceMs ? [newest] : [],
  )
}
