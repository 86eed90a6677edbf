import type { SquidSummary } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { failedFirstDeployments, useLatestDeployments } from '../../api/failed-first-deployments.ts'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { Alert } from '../../ui/Alert.tsx'

const shownMs = 24 * 60 * 60 * 1000
const maxShown = 3

/** Recent first deployments that failed. They leave no version in the list, so they are shown above it. */
export function FailedFirstDeployments({ squids }: { squids: readonly Pick<SquidSummary, 'reference'>[] }) {
  const { data, dataUpdatedAt } = useLatestDeployments(useOrg().code)
  const failed = failedFirstDeployments(data ?? [], squids, dataUpdatedAt - shownMs).slice(0, maxShown)
  return failed.map(({ id, squid, createdAt }) =>
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
