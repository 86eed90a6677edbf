import { displayStatus, displayStatusLabels, type SquidSummary } from '@shoal/contract'
import { statusAppearance, StatusDot } from '../StatusDot.tsx'
import { statusReason } from './status-reason.ts'

/** The status of a version (spec 4), with its reason on hover and focus. */
export function SquidStatus({ squid }: { squid: SquidSummary }) {
  const status = displayStatus(squid)
  return (
    <StatusDot {...statusAppearance[status]} reason={statusReason(squid)}>
      {displayStatusLabels[status]}
    </StatusDot>
  )
}
