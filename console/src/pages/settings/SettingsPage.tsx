import type { Org } from '@shoal/contract'
import { Link, redirect } from '@tanstack/react-router'
import { orgTitle, useOrg } from '../../api/active-org.ts'
import type { Arrive, Prefetch } from '../../api/prefetch.ts'
import { PageHeader } from '../../components/PageHeader.tsx'
import { toast, type Toast } from '../../lib/toasts.ts'
import { buttonClass } from '../../ui/Button.tsx'
import { Card } from '../../ui/Card.tsx'
import { OrgCodeCard, OrgSettings, prefetchLowerHalf } from './OrgSettings.tsx'
import { quotasQuery, RpcUsage } from './RpcUsage.tsx'
import { rolesQuery } from '../../api/roles.ts'

export const prefetch: Prefetch = ({ client, org }) => {
  if (org.limits.playground) void client.prefetchQuery(quotasQuery(org.code))
  else {
    void client.prefetchQuery(rolesQuery(org.code))
    prefetchLowerHalf()
  }
}

/**
 * The settings of the active organization (spec 2.6, `/settings`). Links in confirmation emails open this page with the parameter
 * `emailVerified`.
 */
export default function SettingsPage() {
  const org = useOrg()
  return (
    <div className="max-w-200">
      {org.limits.playground ? (
        <>
          <PageHeader title="Playground settings" context="Your personal workspace, free for one squid." />
          <PlaygroundSettings org={org} />
        </>
      ) : (
        <>
          <PageHeader title="Organization settings" context={orgTitle(org)} />
          <OrgSettings org={org} />
        </>
      )}
    </div>
  )
}

const verifiedToast: Toast = {
  tone: 'good',
  title: 'Email of organization is now verified. It will be used to receive notifications.',
}
const invalidLinkToast: Toast = {
  tone: 'warn',
  title: 'This link is no longer valid',
  message: 'Press Resend verification to get a new one.',
}

/** Shows whether the email of the organization is now confirmed. Removes the parameter, so that a reload does not show the toast again. */
export const arrive: Arrive = ({ emailVerified }) => {
  if (emailVerified !== 'true' && emailVerified !== 'false') return
  toast(emailVerified === 'true' ? verifiedToast : invalidLinkToast)
  throw redirect({ to: '/settings', search: (search) => ({ ...search, emailVerified: undefined }), replace: true })
}

/** The settings of a playground: its code and RPC usage, but no members (spec 2.6). */
function PlaygroundSettings({ org }: { org: Org }) {
  return (
    <div className="flex flex-col gap-5">
      <OrgCodeCard code={org.code} />
      <RpcUsage code={org.code} />
      <Card title="Members" isPadded>
        <div className="flex flex-wrap items-center justify-between gap-3">
          <p className="min-w-0 flex-1 basis-60 text-ink-2">
            You cannot invite users to the playground. Create an organization to work on squids together.
          </p>
          <Link to="/organizations/create/{-$code}" className={buttonClass()}>
            Create organization
          </Link>
        </div>
      </Card>
    </div>
  )
}
