import { squidDisabledReasons, type Deployment, type Squid } from '@shoal/contract'

type RollbackSource = Pick<Deployment, 'image' | 'failed' | 'type'>

/** Whether deployments of this type produce an image. */
const producesImage = (type: Deployment['type']) =>
  type === 'DEPLOY' || type === 'DEPLOY_HARD_RESET' || type === 'ROLLBACK'

/** Why the version cannot roll back to this deployment; null if it can. */
export function rollbackDisabledReason(
  squid: Pick<Squid, 'status' | 'lastDeploy' | 'image'>,
  deployment: RollbackSource,
): string | null {
  if (!producesImage(deployment.type)) return 'It built no new image.'
  if (deployment.failed !== 'NO') return 'It failed, so there is nothing to roll back to.'
  const versionReason = squidDisabledReasons.rollback(squid)
  if (versionReason !== null) return versionReason
  if (deployment.image === null) return 'Its image is no longer kept.'
  return deployment.image === squid.image ? 'This is the current image.' : null
}
