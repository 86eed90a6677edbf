import type { Deployment } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { useDeployment } from '../../../components/deploy-log/use-deployment.ts'
import { PageHeader } from '../../../components/PageHeader.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { DeploymentBody } from './DeploymentBody.tsx'

/** Shows the reason and the log of a failed first deployment, instead of its version, which was deleted. */
export function FailedFirstDeployment({ failed }: { failed: Deployment }) {
  const query = useDeployment(String(failed.id))
  return (
    <>
      <PageHeader
        title={failed.squid?.reference ?? ''}
        context="The first deployment of this version failed, so it was not created: nothing runs, and nothing is billed. Correct the error and deploy again."
        crumbs={<Link to="/squids">Squids</Link>}
      />
      <QueryView query={query} what="This deployment">
        {(deployment) => <DeploymentBody deployment={deployment} />}
      </QueryView>
    </>
  )
}
