import { planLabels, type OperatorOrg } from '@shoal/contract'
import type { Column } from '../../components/data-table/columns.ts'
import { numberColumn } from '../../components/data-table/named-columns.tsx'
import { formatInteger, formatUsd } from '../../lib/format.ts'
import { Badge } from '../../ui/Badge.tsx'
import type { Tone } from '../../ui/tones.ts'
import { usageColumns } from './usage-columns.tsx'

const planTones: Record<OperatorOrg['status'], Tone> = {
  DRAFT: 'neutral',
  ACTIVE: 'good',
  PAYMENT_ISSUES: 'warn',
  IN_DEBT: 'bad',
  TERMINATED: 'bad',
}

/** The columns of the list of organizations. */
export const orgColumns: Column<OperatorOrg>[] = [
  {
    id: 'name',
    header: 'Organization',
    sortBy: titleOf,
    cell: (org) => (
      <div className="py-2">
        <p className="font-medium wrap-anywhere whitespace-normal">
          {titleOf(org)}
          {isAdminShown(org) && <span className="font-normal text-ink-3"> of {org.firstAdminEmail}</span>}
        </p>
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-ink-3">
          <code className="max-w-full truncate">{org.code}</code>
          <Plan org={org} />
        </p>
      </div>
    ),
  },
  numberColumn('Squids', ({ squids, squidsLimit }) => `${formatInteger(squids)} / ${formatInteger(squidsLimit)}`, {
    id: 'squids',
    isGreatestFirst: true,
    headerTip: 'Number of versions, and the limit of the organization',
    sortBy: ({ squids }) => squids,
    width: '88px',
    hideBelow: 'md',
  }),
  numberColumn('Cost', ({ costUsd }) => formatUsd(costUsd), {
    id: 'cost',
    isGreatestFirst: true,
    headerTip: 'This month so far, without tax',
    sortBy: ({ costUsd }) => costUsd,
    width: '92px',
    narrowWidth: '84px',
  }),
  // On phones the names of organizations need the width.
  ...usageColumns<OperatorOrg>().map((column) =>
    column.id === 'cpu' ? { ...column, hideBelow: 'xs' as const } : column,
  ),
]

/** All playgrounds have the same name, so the list shows their owners. */
const isAdminShown = ({ isPlayground, firstAdminEmail }: OperatorOrg) => isPlayground && firstAdminEmail !== null

function titleOf({ name, code }: Pick<OperatorOrg, 'name' | 'code'>): string {
  return name ?? code
}

function Plan({ org }: { org: OperatorOrg }) {
  if (org.suspension) return <Badge tone="bad">Suspended</Badge>
  if (org.isPlayground) return <Badge>Playground</Badge>
  return <Badge tone={planTones[org.status]}>{planLabels[org.status]}</Badge>
}
