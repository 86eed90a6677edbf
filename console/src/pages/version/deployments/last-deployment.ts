import { isInProgress, type Deployment } from '@shoal/contract'
import { deploysCode } from '../../../components/deployment-title.ts'

/**
 * Returns the deployment to show as the last one: the one in progress; otherwise the newest that deployed code, which is
 * more relevant than a later change of tags or a hibernation; otherwise the newest. Null if there is none.
 *
 * @param deployments newest first
 */
export function lastDeploymentOf<D extends Pick<Deployment, 'type' | 'status' | 'failed'>>(
  deployments: readonly D[],
): D | null {
  return deployments.find(isInProgress) ?? deployments.find(({ type }) => deploysCode(type)) ?? deployments[0] ?? null
}
