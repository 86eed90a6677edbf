import { isHibernated, type Squid, type SquidSummary } from '@shoal/contract'
import { bringsCode, deploymentTypeLabels } from '../deployment-title.ts'

type LastDeploy = NonNullable<SquidSummary['lastDeploy']>
export type FailedDeploy = NonNullable<LastDeploy['failedBefore']>

/** The last deployment of a version if it failed; changes of tags after it do not count. */
export function failedDeployOf({ lastDeploy }: Pick<SquidSummary, 'lastDeploy'>): FailedDeploy | null {
  if (!lastDeploy || lastDeploy.running) return null
  return lastDeploy.failed === 'NO' ? (lastDeploy.failedBefore ?? null) : lastDeploy
}

/** `Last deploy failed` */
export const failedDeployText = ({ type }: FailedDeploy): string =>
  `Last ${deploymentTypeLabels[type].toLowerCase()} failed`

/** What runs after the last deployment failed. */
export function stateAfterFailure(squid: Pick<Squid, 'status' | 'image'>, { type, isSwitched }: FailedDeploy): string {
  if (isSwitched) return 'The new code is running.'
  if (squid.image === null) return 'Nothing is running.'
  if (isHibernated(squid)) return 'The version is still hibernated.'
  return bringsCode(type) ? 'The previous code keeps running.' : 'The version keeps running.'
}
