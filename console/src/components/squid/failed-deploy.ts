import { isHibernated, type Squid, type SquidSummary } from '@shoal/contract'
import { deploysCode, deploymentTypeLabels } from '../deployment-title.ts'

type LastDeploy = NonNullable<SquidSummary['lastDeploy']>
export type FailedDeploy = NonNullable<LastDeploy['failedBefore']>

/** The last deployment of a version if it failed, ignoring later changes of tags; null if it succeeded, still runs, or does not exist. */
export function failedDeployOf({ lastDeploy }: Pick<SquidSummary, 'lastDeploy'>): FailedDeploy | null {
  if (!lastDeploy || lastDeploy.running) return null
  return lastDeploy.failed === 'NO' ? (lastDeploy.failedBefore ?? null) : lastDeploy
}

/** A text such as `Last deploy failed` or `Last restart failed`. */
export const failedDeployText = ({ type }: FailedDeploy): string =>
  `Last ${deploymentTypeLabels[type].toLowerCase()} failed`

/** Describes, in one sentence, what runs after the last deployment of the version failed. */
export function stateAfterFailure(squid: Pick<Squid, 'status' | 'image'>, { type, isSwitched }: FailedDeploy): string {
  if (isSwitched) return 'The new code is running.'
  if (squid.image === null) return 'Nothing is running.'
  if (isHibernated(squid)) return 'The version is still hibernated.'
  return deploysCode(type) ? 'The previous code keeps running.' : 'The version keeps running.'
}
