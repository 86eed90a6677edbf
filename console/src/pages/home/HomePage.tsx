import type { Org } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link, Navigate } from '@tanstack/react-router'
import { orgTitle } from '../../api/active-org.ts'
import { openAlertsQuery } from '../../api/alerts.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { sessionQuery, useUser } from '../../api/session.ts'
import { squidsQuery } from '../../api/squids.ts'
import { ErrorState } from '../../components/ErrorState.tsx'
import { PageHeader } from '../../components/PageHeader.tsx'
import { Card } from '../../ui/Card.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { attentionOf } from './attention.ts'
import { AttentionItem } from './AttentionItem.tsx'

export const prefetch: Prefetch = ({ client }) => {
  const session = client.getQueryData(sessionQuery.queryKey)
  if (session?.status !== 'signedIn') return
  for (const { code } of session.user.organizations) {
    void client.prefetchQuery(openAlertsQuery(code))
    void client.prefetchQuery(squidsQuery(code))
  }
}

/** Lists what needs attention in each organization of a user who has several. The spec does not define this page. */
export default function HomePage() {
  const { organizations } = useUser()
  if (organizations.length < 2) return <Navigate to="/squids" replace />
  return (
    <>
      <PageHeader title="Home" context="What needs attention in your organizations." />
      <div className="flex flex-col gap-4.5">
        {organizations.map((org) => (
          <OrgCard key={org.id} org={org} />
        ))}
      </div>
    </>
  )
}

function OrgCard({ org }: { org: Org }) {
  const { code } = org
  const alerts = useQuery(openAlertsQuery(code))
  const squids = useQuery(squidsQuery(code))
  const failedQuery = [alerts, squids].find(({ error, data }) => error && data === undefined)
  const items = attentionOf(org, alerts.data, squids.data)
  const isLoading = !failedQuery && (alerts.data === undefined || squids.data === undefined)
  return (
    <Card
      title={orgTitle(org)}
      aside={
        <Link
          to="/squids"
          search={{ organization: code }}
          aria-label={`Squids of ${orgTitle(org)}`}
          className="text-accent hover:underline"
        >
          Squids
        </Link>
      }
    >
      {items.length > 0 && (
        <ul aria-label={orgTitle(org)} className="divide-y divide-line">
          {items.map((item) => (
            <AttentionItem key={item.id} item={item} code={code} />
          ))}
        </ul>
      )}
      {isLoading && <SkeletonRows count={2} rowClass="h-12" />}
      {failedQuery && (
        <ErrorState
          what={`The state of ${orgTitle(org)} could not be loaded`}
          error={failedQuery.error}
          onRetry={() => void failedQuery.refetch()}
        />
      )}
      {!isLoading && !failedQuery && items.length === 0 && (
        <p className="px-3.5 py-3 text-ink-2">Nothing needs attention</p>
      )}
    </Card>
  )
}
