import type { Squid } from '@shoal/contract'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { Alert } from '../../../ui/Alert.tsx'

/** What people should know about the version, the worst first. */
export function Warnings({ alerts }: { alerts: Squid['alerts'] }) {
  return (
    <ul className="divide-y divide-line">
      {alerts.map(({ label, severity, reason, since }) => (
        <li key={label}>
          <Alert tone={severity === 'CRITICAL' ? 'bad' : 'warn'} title={label} className="rounded-none!">
            {reason}
            {since && (
              <span className="text-ink-2">
                {' '}
                Since <RelativeTime at={since} />.
              </span>
            )}
          </Alert>
        </li>
      ))}
    </ul>
  )
}
