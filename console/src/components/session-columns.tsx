import type { Session } from '@shoal/contract'
import { deviceOf } from '../lib/device.ts'
import { Badge } from '../ui/Badge.tsx'
import type { Column } from './data-table/columns.ts'
import { textColumn, timeColumn } from './data-table/named-columns.tsx'

/** The columns of a list of sessions. */
export const sessionColumns: Column<Session>[] = [
  {
    id: 'device',
    header: 'Device',
    cell: ({ userAgent, isCurrent }) => (
      <span className="my-2 flex flex-wrap items-center gap-x-2 gap-y-1 whitespace-normal">
        <span className="wrap-anywhere" title={userAgent ?? undefined}>
          {deviceOf(userAgent)}
        </span>
        {isCurrent && <Badge tone="accent">This session</Badge>}
      </span>
    ),
  },
  textColumn('Address', ({ ip }) => ip, { hideBelow: 'sm', width: '150px' }),
  timeColumn('Signed in', ({ createdAt }) => createdAt, { hideBelow: 'sm' }),
  timeColumn('Last active', ({ lastSeenAt }) => lastSeenAt),
]
