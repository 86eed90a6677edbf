import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import { orgTitle, useOrg } from '../../api/active-org.ts'
import { useApiMutation } from '../../api/mutation.ts'
import { invalidate } from '../../api/query.ts'
import { useUser } from '../../api/session.ts'
import { MaintenanceBanner } from '../../components/MaintenanceBanner.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { formatTime } from '../../lib/format.ts'
import { supportEmail } from '../../lib/installation.ts'
import { Alert } from '../../ui/Alert.tsx'
import { Button } from '../../ui/Button.tsx'

/** Shows, on every page, announced maintenance, support access to the active organization, and its suspension. */
export function OrgBanner() {
  const org = useOrg()
  const { support, maintenance } = useUser()
  return (
    <>
      {maintenance && <MaintenanceBanner {...maintenance} />}
      {support?.code === org.code && <SupportBanner until={support.until} title={orgTitle(org)} />}
      {org.suspension && <SuspensionBanner {...org.suspension} />}
    </>
  )
}

/** Shows when and why the operator suspended the organization. */
function SuspensionBanner({ at, reason }: { at: string; reason: string }) {
  return (
    <Alert
      tone="bad"
      title="The operator has suspended this organization"
      className="mb-4.5"
      action={
        <a href={`mailto:${supportEmail()}`} className="text-accent underline underline-offset-2">
          Contact support
        </a>
      }
    >
      <p className="break-words">{reason}</p>
      <p className="mt-1 text-ink-2">
        Suspended <RelativeTime at={at} />. Squids are hibernated, and deployments and RPC requests are refused. All
        data is kept.
      </p>
    </Alert>
  )
}

/** Reminds an operator that they read the organization as support, and until when. */
function SupportBanner({ until, title }: { until: string; title: string }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  useEffect(() => {
    const timer = setTimeout(() => void invalidate(client, 'user.get'), Math.max(0, Date.parse(until) - Date.now()))
    return () => clearTimeout(timer)
  }, [client, until])
  const close = useApiMutation('operators.closeSupport', {
    invalidates: ['user.get'],
    onSuccess: () => navigate({ to: '/admin/organizations' }),
  })
  return (
    <Alert
      tone="warn"
      title={`You are reading ${title} as support until ${formatTime(until)}`}
      className="mb-4.5"
      action={
        <Button isPending={close.isPending} onClick={() => close.mutate({})}>
          Close
        </Button>
      }
    >
      You cannot change anything. Credentials, secrets and exports are hidden. The audit log of the organization records
      your access.
    </Alert>
  )
}
