import { isHibernated, type Squid, type SquidSummary } from '@shoal/contract'
import { deploymentTypeLabels } from '../deployment-title.ts'

export type FailedDeploy = NonNullable<SquidSummary['lastDeploy']>

/** The last deployment of a version if it failed. */
export const failedDeployOf = ({ lastDeploy }: Pick<SquidSummary, 'lastDeploy'>): FailedDeploy | null =>
  lastDeploy && !lastDeploy.running && lastDeploy.failed !== 'NO' ? lastDeploy : null

/** `Last deploy failed` */
export const failedDeployText = ({ type }: FailedDeploy): string =>
  `Last ${deploymentTypeLabels[type].toLowerCase()} failed`

/** What runs after the last deployment failed. */
export function stateAfterFailure(squid: Pick<Squid, 'status' | 'image'>, { type, isSwitched }: FailedDeploy): string {
  if (isSwitched) return 'The new code is running.'
  if (squid.image === null) return 'Nothing is running.'
  if (isHibernated(squid)) return 'The version is still hibernated.'
  const bringsCode = type === 'DEPLOY' || type === 'DEPLOY_HARD_RESET' || type === 'ROLLBACK'
  return bringsCode ? 'The previous code keeps running.' : 'The version keeps running.'
}
