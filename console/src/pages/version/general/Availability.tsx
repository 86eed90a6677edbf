import type { Squid } from '@shoal/contract'
import { StatusDot } from '../../../components/StatusDot.tsx'

/** Whether something of a version answers. */
export function Availability({ status }: Pick<NonNullable<Squid['api']>, 'status'>) {
  const isAvailable = status === 'AVAILABLE'
  return (
    <span className="flex">
      <StatusDot tone={isAvailable ? 'good' : 'bad'}>{isAvailable ? 'Available' : 'Not available'}</StatusDot>
    </span>
  )
}
