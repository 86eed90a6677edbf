import type { Deployment } from '@shoal/contract'
import { StatusDot } from '../../../components/StatusDot.tsx'
import { deploymentChip } from './deployment-labels.ts'

/** The status of a deployment, with the reason of a failure on hover (spec 4). */
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
