import type { OperatorUser } from '@shoal/contract'
import type { Column } from '../../components/data-table/columns.ts'
import { numberColumn, timeColumn } from '../../components/data-table/named-columns.tsx'
import { formatInteger } from '../../lib/format.ts'
import { Badge } from '../../ui/Badge.tsx'

/** The columns of the list of users. */
export const userColumns: Column<OperatorUser>[] = [
  {
    id: 'user',
    header: 'User',
    cell: ({ email, fullName, emailVerified, isOperator, disabledAt }) => (
      <div className="py-2">
        <p className="truncate font-medium" title={email}>
          {email}
        </p>
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-ink-3">
          <span className="max-w-full truncate">{fullName}</span>
          {disabledAt !== null && <Badge tone="bad">Disabled</Badge>}
          {!emailVerified && <Badge tone="warn">Email not confirmed</Badge>}
          {isOperator && <Badge tone="accent">Operator</Badge>}
        </p>
      </div>
    ),
  },
  numberColumn('Sessions', ({ sessions }) => formatInteger(sessions), { width: '96px', narrowWidth: '84px' }),
  timeColumn('Last seen', ({ lastSeenAt }) => lastSeenAt, { hideBelow: 'sm' }),
  timeColumn('Signed up', ({ createdAt }) => createdAt, { hideBelow: 'md' }),
]
