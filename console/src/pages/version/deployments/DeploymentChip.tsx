import type { Deployment } from '@shoal/contract'
import { StatusDot } from '../../../components/StatusDot.tsx'
import { deploymentChip } from './deployment-labels.ts'

/** Spec 4: the status, with the reason of an error on hover. */
export function DeploymentChip({
  deployment,
}: {
  deployment: Pick<Deployment, 'status' | 'failed' | 'failureReason'>
}) {
  const { text, tone, isMoving } = deploymentChip(deployment)
  return (
    <StatusDot tone={tone} isMoving={isMoving} {...(deployment.failureReason && { reason: deployment.failureReason })}>
      {text}
    </StatusDot>
  )
}
