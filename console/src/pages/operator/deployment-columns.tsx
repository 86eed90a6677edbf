import type { OperatorDeployment } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import type { Column } from '../../components/data-table/columns.ts'
import { textColumn, timeColumn } from '../../components/data-table/named-columns.tsx'
import { Badge } from '../../ui/Badge.tsx'

/** The columns of the list of running deployments. */
export const deploymentColumns: Column<OperatorDeployment>[] = [
  {
    id: 'deployment',
    header: 'Deployment',
    cell: ({ reference, type, waitsFor }) => (
      <div className="py-2">
        <p className="truncate font-medium" title={reference}>
          {reference}
        </p>
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-ink-3">
          <code>{type}</code>
          {waitsFor !== null && <Badge tone="warn">Waiting</Badge>}
        </p>
        {waitsFor !== null && <p className="break-words whitespace-normal text-ink-2">{waitsFor}</p>}
      </div>
    ),
  },
  {
    id: 'organization',
    header: 'Organization',
    narrowWidth: '120px',
    cell: ({ organization: { code, name } }) => (
      <Link
        to="/admin/organizations"
        search={{ search: code }}
        className="block truncate text-accent hover:underline"
        title={name ?? code}
      >
        {name ?? code}
      </Link>
    ),
  },
  {
    id: 'step',
    header: 'Step',
    width: '180px',
    hideBelow: 'sm',
    cell: ({ step }) => <code className="break-words">{step}</code>,
  },
  timeColumn('In this step since', ({ stepStartedAt }) => stepStartedAt, { hideBelow: 'lg', width: '150px' }),
  timeColumn('Requested', ({ createdAt }) => createdAt, { narrowWidth: '92px' }),
  textColumn('Worker', ({ worker }) => worker, { hideBelow: 'md', none: 'none yet' }),
]
