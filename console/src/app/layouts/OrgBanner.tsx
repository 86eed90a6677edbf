import { useOrg } from '../../api/active-org.ts'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { supportEmail } from '../../lib/installation.ts'
import { Alert } from '../../ui/Alert.tsx'

/** What members must know about the active organization on every page: why the operator has suspended it. */
export function OrgBanner() {
  const { suspension } = useOrg()
  if (suspension === null) return null
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
      <p className="break-words">{suspension.reason}</p>
      <p className="mt-1 text-ink-2">
        Squids are hibernated, and deployments and RPC requests are refused, since <RelativeTime at={suspension.at} />.
        All data is kept.
      </p>
    </Alert>
  )
}
