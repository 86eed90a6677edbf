import type { Deployment } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { useDeployment } from '../../../components/deploy-log/use-deployment.ts'
import { PageHeader } from '../../../components/PageHeader.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { DeploymentBody } from './DeploymentBody.tsx'

/** Shows the reason and the log of a failed first deployment, instead of its version, which was deleted. */
export function FailedFirstDeployment({ failedDeployment }: { failedDeployment: Deployment }) {
  const query = useDeployment(String(failedDeployment.id))
  return (
    <>
      <PageHeader
        title={failedDeployment.squid?.reference ?? ''}
        context="The first deployment failed, so the version was not created: nothing runs, and nothing is billed. Correct the error and deploy again."
        crumbs={<Link to="/squids">Squids</Link>}
      />
      <QueryView query={query} what="This deployment">
        {(deployment) => <DeploymentBody deployment={deployment} />}
      </QueryView>
    </>
  )
}
