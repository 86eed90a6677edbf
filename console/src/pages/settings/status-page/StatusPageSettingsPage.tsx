import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { orgTitle, useOrg } from '../../../api/active-org.ts'
import type { Prefetch } from '../../../api/prefetch.ts'
import { squidsQuery } from '../../../api/squids.ts'
import { EmptyState } from '../../../components/EmptyState.tsx'
import { LinkButton } from '../../../components/LinkButton.tsx'
import { PageHeader } from '../../../components/PageHeader.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { Card } from '../../../ui/Card.tsx'
import { Incidents } from './Incidents.tsx'
import { PageAddress } from './PageAddress.tsx'
import { incidentsQuery, statusPageQuery } from './queries.ts'
import { SettingsForm } from './SettingsForm.tsx'

export const prefetch: Prefetch = ({ client, org }) => {
  if (org.limits.playground) return
  void client.prefetchQuery(statusPageQuery(org.code))
  void client.prefetchQuery(incidentsQuery(org.code))
  void client.prefetchQuery(squidsQuery(org.code))
}

/** The settings and incidents of the organization's public status page. */
export default function StatusPageSettingsPage() {
  const org = useOrg()
  return (
    <div className="max-w-200">
      <PageHeader
        title="Status page"
        context={`What everyone may see of ${orgTitle(org)}, without signing in.`}
        crumbs={<Link to="/settings">Organization settings</Link>}
      />
      {org.limits.playground ? (
        <EmptyState
          title="The playground has no status page"
          text="Create an organization to publish one."
          action={
            <LinkButton to="/organizations/create/{-$code}" params={{}}>
              Create organization
            </LinkButton>
          }
        />
      ) : (
        <OrgStatusPage code={org.code} />
      )}
    </div>
  )
}

function OrgStatusPage({ code }: { code: string }) {
  const settings = useQuery(statusPageQuery(code))
  return (
    <QueryView query={settings} what="The status page">
      {(page) => (
        <div className="flex flex-col gap-5">
          <Card title="Address" isPadded>
            <PageAddress page={page} />
          </Card>
          <Card title="Settings" isPadded>
            <SettingsForm code={code} page={page} />
          </Card>
          <Incidents code={code} page={page} />
        </div>
      )}
    </QueryView>
  )
}
