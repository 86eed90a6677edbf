import type { OperatorSquid } from '@shoal/contract'
import type { Column } from '../../components/data-table/columns.ts'
import { StatusDot } from '../../components/StatusDot.tsx'
import type { Tone } from '../../ui/tones.ts'
import { referenceOf } from './reference-of.ts'
import { usageColumns } from './usage-columns.tsx'

const statuses: Record<OperatorSquid['status'], { tone: Tone; label: string }> = {
  DEPLOYED: { tone: 'good', label: 'Deployed' },
  DEPLOYING: { tone: 'info', label: 'Deploying' },
  DEPLOY_ERROR: { tone: 'bad', label: 'Failed' },
  HIBERNATED: { tone: 'neutral', label: 'Hibernated' },
}

/** The columns of the list of versions. */
export const squidColumns: Column<OperatorSquid>[] = [
  {
    id: 'name',
    header: 'Squid',
    sortBy: referenceOf,
    cell: (squid) => (
      <div className="py-2">
        <p className="font-medium wrap-anywhere whitespace-normal">
          {squid.name}
          <span className="font-normal text-ink-3">@{squid.slot}</span>
        </p>
        <p className="wrap-anywhere whitespace-normal text-ink-3 lg:hidden">{orgAndAdminOf(squid)}</p>
        <p className="sm:hidden">
          <Status squid={squid} />
        </p>
      </div>
    ),
  },
  {
    id: 'organization',
    header: 'Owner',
    sortBy: ({ organization }) => organization.code,
    hideBelow: 'lg',
    cell: (squid) => (
      <div className="py-2">
        <p className="truncate" title={squid.organization.name ?? squid.organization.code}>
          {squid.organization.name ?? squid.organization.code}
        </p>
        <p className="truncate text-ink-3" title={squid.firstAdminEmail ?? ''}>
          {squid.firstAdminEmail}
        </p>
      </div>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    sortBy: ({ status }) => status,
    width: '124px',
    hideBelow: 'sm',
    cell: (squid) => <Status squid={squid} />,
  },
  ...usageColumns<OperatorSquid>(),
]

const Status = ({ squid: { status } }: { squid: OperatorSquid }) => (
  <StatusDot tone={statuses[status].tone}>{statuses[status].label}</StatusDot>
)

const orgAndAdminOf = ({ organization, firstAdminEmail }: OperatorSquid) =>
  [organization.isPlayground ? organization.name : organization.code, firstAdminEmail].filter(Boolean).join(' · ')
