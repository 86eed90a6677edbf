import { deploysCode, deploymentTitle } from '../../../components/deployment-title.ts'
import type { Deployment } from '@shoal/contract'
import { Link, useParams } from '@tanstack/react-router'
import { FileDiff } from 'lucide-react'
import { hasStatus } from '../../../api/error-text.ts'
import type { Prefetch } from '../../../api/prefetch.ts'
import { deploymentQuery, useDeployment } from '../../../components/deploy-log/use-deployment.ts'
import { ActionButton } from '../../../components/ActionButton.tsx'
import { EmptyState } from '../../../components/EmptyState.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { useDeploymentActions } from '../../../components/squid/deployment-actions.tsx'
import { failedDeployOf, stateAfterFailure } from '../../../components/squid/failed-deploy.ts'
import { buttonClass } from '../../../ui/Button.tsx'
import { DeploymentBody } from './DeploymentBody.tsx'
import { DeploymentChip } from './DeploymentChip.tsx'
import { useVersion } from '../use-version.ts'

export const prefetch: Prefetch<{ deployId: string }> = ({ client, org, params }) =>
  void client.prefetchQuery(deploymentQuery(org.code, params.deployId))

/** The page of one deployment, running or finished (spec 2.9). */
export default function DeploymentTab() {
  const { deployId } = useParams({ from: '/app/squids/$squidName/$squidSlot/deployments/$deployId' })
  const query = useDeployment(deployId)
  const squid = useVersion()
  if (hasStatus(query.error, 404) || (query.data && query.data.squid?.id !== squid.id)) return <NotFound />
  return (
    <QueryView query={query} what="This deployment">
      {(deployment) => <LoadedDeployment deployment={deployment} />}
    </QueryView>
  )
}

function LoadedDeployment({ deployment }: { deployment: Deployment }) {
  const squid = useVersion()
  const failedDeploy = failedDeployOf(squid)
  const { id } = deployment
  return (
    <>
      <header className="mb-3.5 flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="text-lg font-semibold">
          <AllDeployments />
          <span aria-hidden className="px-1.5 font-normal text-ink-3">
            /
          </span>
          {deploymentTitle(deployment)} <span className="tabular font-normal text-ink-3">#{id}</span>
        </h2>
        <DeploymentChip deployment={deployment} />
        <span className="flex-1" />
        {deploysCode(deployment.type) && (
          <Link
            from="/squids/$squidName/$squidSlot"
            to="/squids/$squidName/$squidSlot/deployments/$deployId/changes"
            params={{ deployId: String(id) }}
            className={buttonClass()}
          >
            <FileDiff size={14} aria-hidden />
            What changed
          </Link>
        )}
        <ActionButton action={useDeploymentActions(squid).rollBackOf(deployment)} />
      </header>
      <DeploymentBody
        deployment={deployment}
        state={failedDeploy?.id === id ? stateAfterFailure(squid, failedDeploy) : null}
      />
    </>
  )
}

const AllDeployments = () => (
  <Link
    from="/squids/$squidName/$squidSlot"
    to="/squids/$squidName/$squidSlot/deployments"
    className="font-normal text-accent hover:underline"
  >
    Deployments
  </Link>
)

const NotFound = () => (
  <EmptyState
    title="Deployment not found"
    text="This version has no deployment with this number."
    action={
      <Link
        from="/squids/$squidName/$squidSlot"
        to="/squids/$squidName/$squidSlot/deployments"
        className={buttonClass()}
      >
        All deployments
      </Link>
    }
  />
)
