import type { Deployment } from '@shoal/contract'
import { DeployLog } from '../../../components/deploy-log/DeployLog.tsx'
import { FailureAlert } from '../../../components/deploy-log/FailureAlert.tsx'
import { Card } from '../../../ui/Card.tsx'
import { DeploymentFacts } from './DeploymentFacts.tsx'
import { Timeline } from './Timeline.tsx'

/** The error, steps, details and log of a deployment. */
export function DeploymentBody({ deployment, state }: { deployment: Deployment; state?: string | null }) {
  const { id } = deployment
  return (
    <>
      <FailureAlert deployment={deployment} {...(state && { state })} />
      <div className="grid items-start gap-4.5 lg:grid-cols-[minmax(0,1fr)_330px]">
        <div className="flex flex-col gap-4.5 lg:order-2">
          <Card title="Steps">
            <Timeline deployment={deployment} />
          </Card>
          <DeploymentFacts deployment={deployment} />
        </div>
        <DeployLog key={id} deployment={deployment} />
      </div>
    </>
  )
}
