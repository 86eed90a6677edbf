import type { AlertEvent } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'

const linkClass = 'wrap-anywhere text-accent hover:underline'

type Props = { alert: Pick<AlertEvent, 'squid' | 'container' | 'kind'> }

/** Links to the page of the squid or organization that an alert is about. */
export function AlertSubject({ alert: { squid, container, kind } }: Props) {
  const isPlayground = useOrg().limits.playground
  // A deleted version has no link, because the link might open a newer version with the same name.
  if (squid?.isDeleted)
    return (
      <span className="wrap-anywhere text-ink-2">
        {squid.name}@{squid.slot} <span className="whitespace-nowrap text-ink-3">· deleted</span>
      </span>
    )
  if (squid)
    return (
      <>
        <Link
          to="/squids/$squidName/$squidSlot"
          params={{ squidName: squid.name, squidSlot: squid.slot }}
          className={linkClass}
        >
          {squid.name}@{squid.slot}
        </Link>
        {container !== null && <span className="text-ink-3"> · {container}</span>}
      </>
    )
  const to = isPlayground ? '/settings' : kind === 'PAYMENT' ? '/billing' : '/billing/limits'
  return (
    <Link to={to} className={linkClass}>
      The organization
    </Link>
  )
}
