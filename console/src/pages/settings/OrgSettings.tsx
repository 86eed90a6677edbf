import type { Org } from '@shoal/contract'
import { Suspense } from 'react'
import { useDeniedReason } from '../../components/access.tsx'
import { LinkButton } from '../../components/LinkButton.tsx'
import { Card, KeyValue } from '../../ui/Card.tsx'
import { CopyField } from '../../ui/CopyButton.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { emptyValue } from '../../lib/format.ts'
import { EmailForm } from './EmailForm.tsx'
import { NameForm } from './NameForm.tsx'
import { lazyPart } from '../../lib/lazy.tsx'

const DangerZone = lazyPart(() => import('./DangerZone.tsx'))
const Members = lazyPart(() => import('./Members.tsx'))

/** Loads the code of the lower half of the page. */
export function prefetchLowerHalf(): void {
  void Members.preload()
  void DangerZone.preload()
}

/** The settings of an organization that is not a playground. */
export function OrgSettings({ org }: { org: Org }) {
  const deniedReason = useDeniedReason('organization.write')
  return (
    <div className="flex flex-col gap-5">
      {deniedReason === null ? (
        <>
          <Card title="Name" isPadded>
            <NameForm org={org} />
          </Card>
          <Card title="Notification email" isPadded>
            <EmailForm org={org} />
          </Card>
        </>
      ) : (
        <Card title="General">
          <KeyValue
            rows={[
              { label: 'Name', value: org.name ?? emptyValue },
              { label: 'Notification email', value: org.email.email ?? emptyValue },
            ]}
          />
          <p className="border-t border-line px-3.5 py-2.5 text-sm text-ink-3">{deniedReason}</p>
        </Card>
      )}
      <OrgCodeCard code={org.code} />
      <Card title="Domains" isPadded>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="min-w-0 flex-1 basis-60 text-ink-2">
            Serve the API of a squid at your own domain, such as api.example.com, over HTTPS.
          </p>
          <LinkButton to="/settings/domains">Domains</LinkButton>
        </div>
      </Card>
      <Card title="Status page" isPadded>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="min-w-0 flex-1 basis-60 text-ink-2">
            A public page with the freshness and availability of your squids, and with incidents.
          </p>
          <LinkButton to="/settings/status-page">Status page</LinkButton>
        </div>
      </Card>
      <Suspense fallback={<SkeletonRows count={4} />}>
        <Members org={org} />
        <DangerZone org={org} />
      </Suspense>
    </div>
  )
}

/** Shows the code of the organization, and what it is for. */
export function OrgCodeCard({ code }: { code: string }) {
  return (
    <Card title="Organization code" isPadded>
      <p className="mb-2 text-ink-2">
        Pass it to commands as <code>--org</code>. It is part of the URLs of squids and never changes.
      </p>
      <div className="max-w-100">
        <CopyField text={code} what="organization code" />
      </div>
    </Card>
  )
}
