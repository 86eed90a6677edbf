import { displayStatus, displayStatusLabels, type Squid } from '@shoal/contract'
import { squidStatusLook, StatusDot } from '../../components/StatusDot.tsx'

export function VersionStatus({ squid }: { squid: Squid }) {
  const status = displayStatus(squid)
  return <StatusDot {...squidStatusLook[status]}>{displayStatusLabels[status]}</StatusDot>
}
