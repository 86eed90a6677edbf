import { Link } from '@tanstack/react-router'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { Card } from '../../../ui/Card.tsx'
import { SkeletonRows } from '../../../ui/Skeleton.tsx'
import { DeploymentChip } from '../deployments/DeploymentChip.tsx'
import { deploymentTitle } from '../../../components/deployment-title.ts'
import { Timeline } from '../deployments/Timeline.tsx'
import { useLastDeployment } from '../deployments/use-deployments.ts'

/** Shows the last deployment, running or finished, with its steps. */
export function LastDeployment() {
  const deployment = useLastDeployment()
  if (deployment === null) return null
  return (
    <Card title="Last deployment" aside={deployment && <DeploymentChip deployment={deployment} />}>
      {deployment ? (
        <>
          <p className="flex flex-wrap items-center gap-x-2 border-b border-line px-3.5 py-2.5">
            <Link
              from="/squids/$squidName/$squidSlot"
              to="/squids/$squidName/$squidSlot/deployments/$deployId"
              params={{ deployId: String(deployment.id) }}
              className="font-medium text-accent hover:underline"
            >
              {deploymentTitle(deployment)} #{deployment.id}
            </Link>
            <span className="text-ink-3">
              <RelativeTime at={deployment.createdAt} />
              {deployment.user && ` by ${deployment.user.fullName ?? deployment.user.email}`}
            </span>
          </p>
          <Timeline deployment={deployment} />
        </>
      ) : (
        <SkeletonRows count={5} rowClass="h-9" />
      )}
    </Card>
  )
}
