import { isInProgress, type Deployment, type DeploymentType } from '@shoal/contract'

const codeTypes: readonly DeploymentType[] = ['DEPLOY', 'DEPLOY_HARD_RESET', 'ROLLBACK']

/**
 * The deployment to show as the last one: the one that runs, otherwise the newest of code, since a changed tag or a
 * hibernation says nothing about the code. Null if there is none.
 *
 * @param deployments newest first
 */
export function lastDeploymentOf<D extends Pick<Deployment, 'type' | 'status' | 'failed'>>(
  deployments: readonly D[],
): D | null {
  return (
    deployments.find(isInProgress) ?? deployments.find(({ type }) => codeTypes.includes(type)) ?? deployments[0] ?? null
  )
}
