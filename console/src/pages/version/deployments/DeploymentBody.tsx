import { isInProgress, type Deployment } from '@shoal/contract'
import { Alert } from '../../../ui/Alert.tsx'
import { Card } from '../../../ui/Card.tsx'
import { DeployLog } from './DeployLog.tsx'
import { DeploymentFacts } from './DeploymentFacts.tsx'
import { failureLabels } from './deployment-labels.ts'
import { Timeline } from './Timeline.tsx'

/** The error, steps, details and log of a deployment. */
export function DeploymentBody({ deployment }: { deployment: Deployment }) {
  const { id, failed, failureReason, logs, createdAt } = deployment
  return (
    <>
      {failed !== 'NO' && (
        <Alert tone="bad" title={failureLabels[failed]} className="mb-4.5">
          <p className="wrap-anywhere whitespace-pre-wrap">{failureReason}</p>
        </Alert>
      )}
      <div className="grid items-start gap-4.5 lg:grid-cols-[minmax(0,1fr)_330px]">
        <div className="flex flex-col gap-4.5 lg:order-2">
          <Card title="Steps">
            <Timeline deployment={deployment} />
          </Card>
          <DeploymentFacts deployment={deployment} />
        </div>
        <DeployLog key={id} lines={logs} startedAt={createdAt} isGrowing={isInProgress(deployment)} />
      </div>
    </>
  )
}
