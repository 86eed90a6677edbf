import type { Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { q } from '../../../api/query.ts'
import { firstErrorLine } from '../../../components/deploy-log/failure-text.ts'
import {
  failedDeployOf,
  failedDeployText,
  stateAfterFailure,
  type FailedDeploy,
} from '../../../components/squid/failed-deploy.ts'
import { TroubleshootingLink } from '../../../components/TroubleshootingLink.tsx'
import { Alert } from '../../../ui/Alert.tsx'
import { buttonClass } from '../../../ui/Button.tsx'
import { Skeleton } from '../../../ui/Skeleton.tsx'

/** The maximum length of the shown error. The page of the deployment shows all of it. */
const maxCharacters = 240

/** Shows, on all tabs, that the last deployment failed, with its first error and a link to causes and remedies. The page of that deployment does not show the notice. */
export function FailedDeployNotice({ squid }: { squid: Squid }) {
  const { deployId } = useParams({ strict: false })
  const failedDeploy = failedDeployOf(squid)
  if (failedDeploy === null || String(failedDeploy.id) === deployId) return null
  return <Notice squid={squid} failedDeploy={failedDeploy} />
}

function Notice({ squid, failedDeploy }: { squid: Squid; failedDeploy: FailedDeploy }) {
  const { code } = squid.organization
  const id = String(failedDeploy.id)
  // The query never becomes stale, because a deployment that ended does not change. It excludes the log, which can be long.
  const query = { squidId: String(squid.id), before: String(failedDeploy.id + 1), limit: '1', logs: 'false' } as const
  const { data, isPending } = useQuery(q('deployments.list', { params: { code }, query }, { staleTime: Infinity }))
  const deployment = data?.find((candidate) => candidate.id === failedDeploy.id)
  const error = deployment && firstErrorLine(deployment)
  return (
    <Alert tone="bad" title={`${failedDeployText(failedDeploy)} (#${id})`} className="mb-4.5">
      {isPending && <Skeleton className="my-1 h-3.5 w-80 max-w-full" />}
      {error && (
        <code className="wrap-anywhere">
          {error.length > maxCharacters ? `${error.slice(0, maxCharacters)}…` : error}
        </code>
      )}
      <p className="text-ink-2">{stateAfterFailure(squid, failedDeploy)}</p>
      <div className="mt-2 flex flex-wrap items-center gap-x-4 gap-y-2">
        <Link
          from="/squids/$squidName/$squidSlot"
          to="/squids/$squidName/$squidSlot/deployments/$deployId"
          params={{ deployId: id }}
          className={buttonClass()}
        >
          Open log
        </Link>
        {deployment && deployment.failed !== 'NO' && <TroubleshootingLink kind={deployment.failed} />}
      </div>
    </Alert>
  )
}
