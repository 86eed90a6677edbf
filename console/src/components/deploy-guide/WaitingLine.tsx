import { isInProgress, type Deployment } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import { squidsQuery, useNextDeployment } from '../../api/squids.ts'
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
  const { id, squid, failed, failureReason } = deployment
  const name = squid?.reference ?? 'your squid'
  return (
    <>
      {failed !== 'NO' ? (
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
          to="/squids/$squidName/$squidSlot"
          params={{ squidName: squid.name, squidSlot: squid.slot }}
          className="text-accent underline underline-offset-2"
        >
          Open {squid.reference}
        </Link>
      )}
      {failureReason && <p className="basis-full text-ink-2">{failureReason}</p>}
    </>
  )
}
