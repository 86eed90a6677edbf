import { isInProgress, type Deployment } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import type { Column } from '../../../components/data-table/columns.ts'
import { codeColumn, timeColumn } from '../../../components/data-table/named-columns.tsx'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import { deploymentTitle, shortImage } from '../../../components/deployment-title.ts'
import { DeploymentChip } from './DeploymentChip.tsx'
import { Elapsed } from './Timeline.tsx'

/** The columns of the list of deployments. */
export const deploymentColumns: Column<Deployment>[] = [
  {
    id: 'type',
    header: 'Deployment',
    cell: (deployment) => (
      <div className="max-xs:py-1.5">
        <Link
          from="/squids/$squidName/$squidSlot"
          to="/squids/$squidName/$squidSlot/deployments/$deployId"
          params={{ deployId: String(deployment.id) }}
          className="font-medium hover:underline"
        >
          {deploymentTitle(deployment)} <span className="tabular font-normal text-ink-3">#{deployment.id}</span>
        </Link>
        <span className="block text-xs text-ink-3 xs:hidden">
          <RelativeTime at={deployment.createdAt} />
        </span>
      </div>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    width: '160px',
    cell: (deployment) => <DeploymentChip deployment={deployment} />,
  },
  codeColumn('Image kept', ({ image }) => image && shortImage(image), {
    headerTip: 'You can roll back to images that Shoal has kept.',
    width: '130px',
    hideBelow: 'lg',
  }),
  {
    id: 'user',
    header: 'By',
    width: '120px',
    hideBelow: 'md',
    cell: ({ user }) =>
      user ? <span title={user.email}>{user.fullName ?? user.email}</span> : <span className="text-ink-3">Shoal</span>,
  },
  timeColumn('Started', ({ createdAt }) => createdAt, { width: '104px', hideBelow: 'xs' }),
  {
    id: 'elapsed',
    header: 'Duration',
    width: '80px',
    isNumber: true,
    hideBelow: 'xs',
    cell: (deployment) => (
      <Elapsed
        startedAt={deployment.createdAt}
        elapsedMs={isInProgress(deployment) ? null : deployment.totalElapsedTimeMs}
      />
    ),
  },
]
