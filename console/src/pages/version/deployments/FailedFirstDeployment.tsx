import type { Deployment } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { PageHeader } from '../../../components/PageHeader.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { DeploymentBody } from './DeploymentBody.tsx'
import { useDeployment } from './use-deployments.ts'

/** Shown instead of a version whose first deployment failed: the reason and the log. */
export function FailedFirstDeployment({ of }: { of: Deployment }) {
  const query = useDeployment(String(of.id))
  return (
    <>
      <PageHeader
        title={of.squid?.reference ?? ''}
        context="The first deployment of this version failed, so it was not created: nothing runs, and nothing is billed. Correct the error and deploy again."
        crumbs={<Link to="/squids">Squids</Link>}
      />
      <QueryView query={query} what="This deployment">
        {(deployment) => <DeploymentBody deployment={deployment} />}
      </QueryView>
    </>
  )
}
