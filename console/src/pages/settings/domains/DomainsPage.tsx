import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { orgTitle, useOrg } from '../../../api/active-org.ts'
import type { Prefetch } from '../../../api/prefetch.ts'
import { squidsQuery } from '../../../api/squids.ts'
import { useDeniedReason } from '../../../components/access.tsx'
import { EmptyState } from '../../../components/EmptyState.tsx'
import { LinkButton } from '../../../components/LinkButton.tsx'
import { openDialog } from '../../../components/open-dialog.ts'
import { PageHeader } from '../../../components/PageHeader.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { lazyPart } from '../../../lib/lazy.tsx'
import { Button } from '../../../ui/Button.tsx'
import { Card } from '../../../ui/Card.tsx'
import { SkeletonRows } from '../../../ui/Skeleton.tsx'
import { DomainCard } from './DomainCard.tsx'
import { domainsQuery } from './queries.ts'

const AddDomainDialog = lazyPart(() => import('./AddDomainDialog.tsx'))

export const prefetch: Prefetch = ({ client, org }) => {
  if (org.limits.playground) return
  void client.prefetchQuery(domainsQuery(org.code))
  void client.prefetchQuery(squidsQuery(org.code))
}

/** The domains of the organization, with their states, certificates and the DNS records to set. */
export default function DomainsPage() {
  const org = useOrg()
  return (
    <div className="max-w-200">
      {org.limits.playground ? (
        <>
          <Header name={orgTitle(org)} />
          <EmptyState
            title="The playground has no domains"
            text="Create an organization to serve squids at your own domains."
            action={
              <LinkButton to="/organizations/create/{-$code}" params={{}}>
                Create organization
              </LinkButton>
            }
          />
        </>
      ) : (
        <OrgDomains code={org.code} name={orgTitle(org)} />
      )}
    </div>
  )
}

function Header({ name, actions }: { name: string; actions?: ReactNode }) {
  return (
    <PageHeader
      title="Domains"
      context={`Serve the API of a tag of ${name} at your own domain, over HTTPS.`}
      crumbs={<Link to="/settings">Organization settings</Link>}
      actions={actions}
    />
  )
}

function OrgDomains({ code, name }: { code: string; name: string }) {
  const list = useQuery(domainsQuery(code))
  const squids = useQuery(squidsQuery(code)).data
  const deniedReason = useDeniedReason('organization.write')
  const add = () => openDialog((close) => <AddDomainDialog code={code} onClose={close} />)
  const addButton = (
    <Button variant="primary" disabledReason={deniedReason} onClick={add}>
      Add domain
    </Button>
  )
  const isListed = list.data !== undefined && list.data.domains.length > 0
  return (
    <>
      <Header name={name} actions={isListed ? addButton : undefined} />
      <QueryView
        query={list}
        what="The domains"
        skeleton={
          <Card>
            <SkeletonRows count={3} rowClass="h-16" />
          </Card>
        }
      >
        {({ gatewayName, domains }) =>
          gatewayName === null ? (
            <EmptyState
              title="This installation serves no domains of organizations"
              text="Its operator can change that with SHOAL_TLS=acme: Shoal then orders the certificates itself."
            />
          ) : domains.length === 0 ? (
            <EmptyState
              title="No domains yet"
              text="Add a domain such as api.example.com. Shoal shows the DNS records to set, and orders the certificate."
              action={addButton}
            />
          ) : (
            <div className="flex flex-col gap-5">
              {domains.map((domain) => (
                <DomainCard
                  key={domain.name}
                  code={code}
                  domain={domain}
                  hasVersion={squids?.some(
                    (squid) => squid.name === domain.squid && squid.tags.some(({ name: tag }) => tag === domain.tag),
                  )}
                />
              ))}
              <Help />
            </div>
          )
        }
      </QueryView>
    </>
  )
}

/** Help with DNS records, and with domains that another organization has. */
function Help() {
  return (
    <Card title="Good to know" isPadded>
      <ul className="flex list-disc flex-col gap-2 pl-4 text-ink-2">
        <li>New records can take minutes to appear. Shoal checks them often at first, and for a week.</li>
        <li>
          If your DNS provider adds your domain to the names of records, enter <code>_shoal.api</code> instead of{' '}
          <code>_shoal.api.example.com</code>.
        </li>
        <li>Keep both records. A domain without them is deactivated after a day, since its owner may have changed.</li>
        <li>
          To take over a domain from another organization, add it here, set its TXT record to the value shown here, and
          remove the one of the other organization. Until then, the other organization keeps it.
        </li>
      </ul>
    </Card>
  )
}
