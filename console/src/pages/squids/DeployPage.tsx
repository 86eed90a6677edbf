import { Link } from '@tanstack/react-router'
import type { Prefetch } from '../../api/prefetch.ts'
import { newestDeploymentQuery, squidsQuery } from '../../api/squids.ts'
import DeployGuide, { prefetchEstimate } from '../../components/deploy-guide/DeployGuide.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'

export const prefetch: Prefetch = ({ client, org }) => {
  void client.prefetchQuery(squidsQuery(org.code))
  void client.prefetchQuery(newestDeploymentQuery(org.code))
  prefetchEstimate(client, org)
}

/** The page with the deploy guide (spec 2.8, `/squids/deploy`). */
export default function DeployPage() {
  return (
    <>
      <PageHeader
        title="Deploy squid"
        context="From a template to a running squid, in four steps."
        crumbs={<Link to="/squids">Squids</Link>}
      />
      <DeployGuide />
    </>
  )
}
