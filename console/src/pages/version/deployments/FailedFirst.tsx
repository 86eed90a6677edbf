import type { Deployment } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { PageHeader } from '../../../components/PageHeader.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { Alert } from '../../../ui/Alert.tsx'
import { Card } from '../../../ui/Card.tsx'
import { DeployLog } from './DeployLog.tsx'
import { DeploymentFacts } from './DeploymentFacts.tsx'
import { failureLabels } from './deployment-words.ts'
import { Timeline } from './Timeline.tsx'
import { useDeployment } from './use-deployments.ts'

/** What is left of a version whose first deployment failed: why it did, and its log. */
export function FailedFirst({ of }: { of: Deployment }) {
  const query = useDeployment(String(of.id))
  return (
    <>
      <PageHeader
        title={of.squid?.reference ?? ''}
        context="Its first deployment failed, so there is no such version. Nothing of it runs or is billed; deploy it again as it was."
        crumbs={<Link to="/squids">Squids</Link>}
      />
      <QueryView query={query} what="This deployment">
        {(deployment) => (
          <>
            {deployment.failed !== 'NO' && (
              <Alert tone="bad" title={failureLabels[deployment.failed]} className="mb-4.5">
                <p className="wrap-anywhere whitespace-pre-wrap">{deployment.failureReason}</p>
              </Alert>
            )}
            <div className="grid items-start gap-4.5 lg:grid-cols-[minmax(0,1fr)_330px]">
              <div className="flex flex-col gap-4.5 lg:order-2">
                <Card title="Steps">
                  <Timeline deployment={deployment} />
                </Card>
                <DeploymentFacts deployment={deployment} />
              </div>
              <DeployLog lines={deployment.logs} startedAt={deployment.createdAt} isGrowing={false} />
            </div>
          </>
        )}
      </QueryView>
    </>
  )
}
