import type { Deployment } from '@shoal/contract'
import { failureSummary } from '../../../components/deploy-log/failure-text.ts'
import { StatusDot } from '../../../components/StatusDot.tsx'
import { stepLabel } from '../../../components/deployment-title.ts'
import { deploymentChip } from './deployment-labels.ts'

/** The status of a deployment (spec 4). On hover, it shows the reason of a failure, or the current step in words. */
export function DeploymentChip({
  deployment,
}: {
  deployment: Pick<Deployment, 'type' | 'status' | 'failed' | 'failureReason'>
}) {
  const { text, tone, isPulsing } = deploymentChip(deployment)
  const reason = failureSummary(deployment) || (isPulsing && stepLabel(deployment.type, deployment.status))
  return (
    <StatusDot tone={tone} isPulsing={isPulsing} {...(reason && { reason })}>
      {text}
    </StatusDot>
  )
}
