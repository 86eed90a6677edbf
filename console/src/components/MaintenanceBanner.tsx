import type { Maintenance } from '@shoal/contract'
import { formatDateTime } from '../lib/format.ts'
import { Alert } from '../ui/Alert.tsx'

/** Shows the time and the message of the maintenance that the operator has announced. */
export function MaintenanceBanner({ message, startsAt, endsAt }: Pick<Maintenance, 'message' | 'startsAt' | 'endsAt'>) {
  return (
    <Alert
      tone="info"
      title={`Maintenance from ${formatDateTime(startsAt)} to ${formatDateTime(endsAt)}`}
      className="mb-4.5"
    >
      <p className="break-words">{message}</p>
    </Alert>
  )
}
