import type { Deployment } from '@shoal/contract'
import { DeployLog } from '../../../components/deploy-log/DeployLog.tsx'
import { FailureAlert } from '../../../components/deploy-log/FailureAlert.tsx'
import { Card } from '../../../ui/Card.tsx'
import { DeploymentFacts } from './DeploymentFacts.tsx'
import { Timeline } from './Timeline.tsx'

/** The error, steps, log and details of a deployment. */
export function DeploymentBody({ deployment, state }: { deployment: Deployment; state?: string | null }) {
  const { id } = deployment
  return (
    <>
      <FailureAlert deployment={deployment} {...(state && { state })} />
      {/* On narrow screens the log is between the steps and the details. */}
      <div className="grid items-start gap-4.5 lg:grid-cols-[minmax(0,1fr)_330px] lg:grid-rows-[auto_1fr]">
        <Card title="Steps" className="lg:col-start-2">
          <Timeline deployment={deployment} />
        </Card>
        <div className="min-w-0 lg:col-start-1 lg:row-span-2 lg:row-start-1">
          <DeployLog key={id} deployment={deployment} />
        </div>
        <DeploymentFacts deployment={deployment} />
      </div>
    </>
  )
}
