import type { Deployment } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { PageHeader } from '../../../components/PageHeader.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { DeploymentBody } from './DeploymentBody.tsx'
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
        {(deployment) => <DeploymentBody deployment={deployment} />}
      </QueryView>
    </>
  )
}
