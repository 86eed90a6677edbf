import type { AlertEvent } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import type { RefObject } from 'react'
import { AlertSeverity } from '../../components/AlertSeverity.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { Popover } from '../../ui/Popover.tsx'

type Props = {
  /** The most severe first; undefined while loading. */
  alerts: readonly AlertEvent[] | undefined
  triggerRef: RefObject<Element | null>
  onClose: () => void
}

const maxShown = 5
const linkClass = 'block px-3.5 py-2 -outline-offset-2 hover:bg-subtle'

/** The most severe open alerts, each a link to its version. */
export default function AlertsPopover({ alerts, triggerRef, onClose }: Props) {
  return (
    <Popover
      label="Open alerts"
      triggerRef={triggerRef}
      isOpen
      onOpenChange={(isOpen) => !isOpen && onClose()}
      placement="bottom end"
    >
      <div className="w-80 max-w-full">
        {alerts === undefined && <p className="text-ink-2">Loading alerts…</p>}
        {alerts?.length === 0 && <p className="text-ink-2">No open alerts</p>}
        {alerts && alerts.length > 0 && (
          <ul className="-mx-3.5 -mt-3.5 divide-y divide-line border-b border-line">
            {alerts.slice(0, maxShown).map((alert) => (
              <li key={alert.id}>
                {alert.squid ? (
                  <Link
                    to="/squids/$squidName/$squidSlot"
                    params={{ squidName: alert.squid.name, squidSlot: alert.squid.slot }}
                    onClick={onClose}
                    className={linkClass}
                  >
                    <AlertListItem alert={alert} subject={`${alert.squid.name}@${alert.squid.slot}`} />
                  </Link>
                ) : (
                  <Link to="/monitoring/alerts" onClick={onClose} className={linkClass}>
                    <AlertListItem alert={alert} subject="The organization" />
                  </Link>
                )}
              </li>
            ))}
          </ul>
        )}
        <Link
          to="/monitoring/alerts"
          onClick={onClose}
          className="mt-3 inline-block font-medium text-accent hover:underline"
        >
          {alerts && alerts.length > maxShown ? `All ${alerts.length} alerts` : 'All alerts'}
        </Link>
      </div>
    </Popover>
  )
}

function AlertListItem({
  alert: { severity, label, startedAt, isMuted },
  subject,
}: {
  alert: AlertEvent
  subject: string
}) {
  return (
    <>
      <AlertSeverity severity={severity}>
        <span className="whitespace-normal">{label}</span>
      </AlertSeverity>
      <span className="flex gap-3 pl-3.5 text-sm text-ink-2">
        <span className="min-w-0 flex-1 truncate">{subject}</span>
        {isMuted && <span>muted</span>}
        <RelativeTime at={startedAt} />
      </span>
    </>
  )
}
