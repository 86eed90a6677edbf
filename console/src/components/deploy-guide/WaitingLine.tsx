import { isInProgress, type Deployment } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import { squidsQuery, useNextDeployment } from '../../api/squids.ts'
import { firstErrorLine } from '../deploy-log/failure-text.ts'
import { StatusDot } from '../StatusDot.tsx'

/** Waits for a new deployment and shows its progress and outcome. */
export function WaitingLine() {
  const deployment = useNextDeployment()
  const { code } = useOrg()
  const isFirst = useQuery(squidsQuery(code)).data?.length === 0
  return (
    <div
      role="status"
      className="flex flex-wrap items-center gap-x-4 gap-y-1.5 rounded-md border border-line px-3.5 py-2.5"
    >
      {deployment ? (
        <DeploymentProgress deployment={deployment} />
      ) : (
        <StatusDot tone="neutral" isPulsing>
          {isFirst ? 'Waiting for your first deployment…' : 'Waiting for your deployment…'}
        </StatusDot>
      )}
    </div>
  )
}

function DeploymentProgress({ deployment }: { deployment: Deployment }) {
  const { id, squid, failed } = deployment
  const hasFailed = failed !== 'NO'
  const error = hasFailed && firstErrorLine(deployment)
  const name = squid?.reference ?? 'your squid'
  return (
    <>
      {hasFailed ? (
        <StatusDot tone="bad">Deployment {id} failed</StatusDot>
      ) : isInProgress(deployment) ? (
        <StatusDot tone="info" isPulsing>
          Deployment {id} of {name} is running
        </StatusDot>
      ) : (
        <StatusDot tone="good">{name} is deployed</StatusDot>
      )}
      {squid && (
        <Link
          to={hasFailed ? '/squids/$squidName/$squidSlot/deployments/$deployId' : '/squids/$squidName/$squidSlot'}
          params={{ squidName: squid.name, squidSlot: squid.slot, deployId: String(id) }}
          className="text-accent underline underline-offset-2"
        >
          {hasFailed ? 'Open log' : `Open ${squid.reference}`}
        </Link>
      )}
      {error && <code className="basis-full wrap-anywhere text-ink-2">{error}</code>}
    </>
  )
}
