import type { Role } from '@shoal/contract'
import type { Column } from '../../components/data-table/columns.ts'
import { roleLabels } from '../../components/role-options.ts'
import { Badge } from '../../ui/Badge.tsx'

/** The columns of the list of members. The row of the member with `ownEmail` has the badge `You` (spec 3). */
export const memberColumns = (ownEmail: string | null): Column<Role>[] => [
  {
    id: 'email',
    header: 'Email',
    cell: ({ email, status }) => (
      <span className="flex flex-wrap items-center gap-x-2 py-2">
        <span className="min-w-0 wrap-anywhere whitespace-normal">{email}</span>
        {status === 'accepted' && email === ownEmail && <Badge tone="accent">You</Badge>}
      </span>
    ),
  },
  {
    id: 'name',
    header: 'Name',
    hideBelow: 'sm',
    cell: ({ fullName }) => (
      <span className="block truncate" title={fullName ?? undefined}>
        {fullName}
      </span>
    ),
  },
  {
    id: 'role',
    header: 'Role',
    width: '170px',
    narrowWidth: '140px',
    cell: ({ type, status }) => (
      <span className="flex flex-wrap items-center gap-x-2 py-2">
        {roleLabels[type]}
        {status === 'invited' && <Badge tone="info">Invited</Badge>}
      </span>
    ),
  },
]
