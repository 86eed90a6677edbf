import { isCardAdded, isUnpaid } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import { documentationUrl } from '../../lib/installation.ts'
import { Alert } from '../../ui/Alert.tsx'

const linkClass = 'text-accent underline underline-offset-2'

/** The notice above the guide, which depends on the organization's plan (spec 2.8). */
export function GuideHeader() {
  const { status, limits } = useOrg()
  if (limits.playground)
    return (
      <Alert tone="info">
        The playground is your personal workspace, with one free squid. For more,{' '}
        <Link to="/organizations/create/{-$code}" className={linkClass}>
          create an organization
        </Link>
        .
      </Alert>
    )
  if (isUnpaid(status))
    return (
      <Alert tone="bad">
        Payment is overdue. Please update your card details.{' '}
        <Link to="/billing" className={linkClass}>
          Open billing
        </Link>
      </Alert>
    )
  if (isCardAdded(status))
    return (
      <p className="text-ink-2">
        For a step-by-step guide to squids, see the{' '}
        <a href={documentationUrl()} target="_blank" rel="noreferrer" className={linkClass}>
          documentation
        </a>
        .
      </p>
    )
  return (
    <Alert tone="info">
      No card has been added yet.{' '}
      <Link to="/billing" className={linkClass}>
        Upgrade to Pro
      </Link>{' '}
      to run squids in production.
    </Alert>
  )
}
