import { squidCan, type Deployment, type Squid } from '@shoal/contract'

type RollbackSource = Pick<Deployment, 'image' | 'failed' | 'type'>

/** Deployment types that produce an image. */
const makesImage = (type: Deployment['type']) =>
  type === 'DEPLOY' || type === 'DEPLOY_HARD_RESET' || type === 'ROLLBACK'

/** Why the version cannot roll back to this deployment; null if it can. */
export function rollbackDisabledReason(
  squid: Pick<Squid, 'status' | 'lastDeploy' | 'image'>,
  deployment: RollbackSource,
): string | null {
  if (!makesImage(deployment.type)) return 'It built no new image.'
  if (deployment.failed !== 'NO') return 'It failed, so there is nothing to roll back to.'
  const busy = squidCan.rollback(squid)
  if (busy !== null) return busy
  if (deployment.image === null) return 'Its image is no longer kept.'
  return deployment.image === squid.image ? 'This is the current image.' : null
}
