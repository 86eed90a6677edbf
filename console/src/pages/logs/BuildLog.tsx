import type { Deployment, Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { pollWhile } from '../../api/poll.ts'
import { q } from '../../api/query.ts'
import { DeployLog } from '../../components/deploy-log/DeployLog.tsx'
import { useDeployment } from '../../components/deploy-log/use-deployment.ts'
import { deploymentTitle } from '../../components/deployment-title.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'

const skeleton = <SkeletonRows count={12} />
const hasBuild = ({ type }: Deployment) => type === 'DEPLOY' || type === 'DEPLOY_HARD_RESET'
/** A new deployment may begin while the page is open. */
const refetchInterval = pollWhile<Deployment[]>(() => false, { fastMs: 10_000, slowMs: 10_000 })

/** The log of the newest deployment that built an image: what the build, and the preparation of the version, printed. */
export function BuildLog({ squid }: { squid: Pick<Squid, 'id' | 'organization'> }) {
  const call = {
    params: { code: squid.organization.code },
    query: { squidId: String(squid.id), limit: '50', logs: 'false' },
  } as const
  const deployments = useQuery(q('deployments.list', call, { refetchInterval }))
  return (
    <QueryView query={deployments} what="The deployments" skeleton={skeleton}>
      {(list) => {
        const newest = list.find(hasBuild)
        return newest ? <LogOf key={newest.id} id={newest.id} /> : <NoBuild />
      }}
    </QueryView>
  )
}

function LogOf({ id }: { id: number }) {
  const query = useDeployment(String(id))
  return (
    <QueryView query={query} what="The build log" skeleton={skeleton}>
      {(deployment) => (
        <DeployLog
          deployment={deployment}
          title={`${deploymentTitle(deployment)} #${id}`}
          aside={
            <Link
              from="/squids/$squidName/$squidSlot"
              to="/squids/$squidName/$squidSlot/deployments/$deployId"
              params={{ deployId: String(id) }}
              className="whitespace-nowrap text-accent hover:underline"
            >
              Deployment
            </Link>
          }
        />
      )}
    </QueryView>
  )
}

const NoBuild = () => (
  <EmptyState title="No build log" text="None of the last 50 deployments of this version built an image." />
)
