import type { SquidSummary } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { failedFirstDeployments, useLatestDeployments } from '../../api/failed-first-deployments.ts'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { Alert } from '../../ui/Alert.tsx'

const maxAgeMs = 24 * 60 * 60 * 1000
const maxShown = 3

/** Shows first deployments of the last day that failed, at most three. Their versions were deleted, so the list does not contain them. */
export function FailedFirstDeployments({ squids }: { squids: readonly Pick<SquidSummary, 'reference'>[] }) {
  const { data, dataUpdatedAt } = useLatestDeployments(useOrg().code)
  const failedDeployments = failedFirstDeployments(data ?? [], squids, dataUpdatedAt - maxAgeMs).slice(0, maxShown)
  return failedDeployments.map(({ id, squid, createdAt }) =>
    squid === null ? null : (
      <Alert key={id} tone="bad" className="mb-4">
        The first deployment of <b className="font-semibold wrap-anywhere">{squid.reference}</b> failed{' '}
        <RelativeTime at={createdAt} />, so it is not in the list.{' '}
        <Link
          to="/squids/$squidName/$squidSlot/deployments/$deployId"
          params={{ squidName: squid.name, squidSlot: squid.slot, deployId: String(id) }}
          className="font-medium underline"
        >
          See why
        </Link>
      </Alert>
    ),
  )
}
