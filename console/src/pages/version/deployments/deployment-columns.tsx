import { isInProgress, type Deployment } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { RelativeTime } from '../../../components/RelativeTime.tsx'
import type { Column } from '../../../components/data-table/columns.ts'
import { deploymentTitle, shortImage } from '../../../components/deployment-title.ts'
import { emptyValue } from '../../../lib/format.ts'
import { DeploymentChip } from './DeploymentChip.tsx'
import { Elapsed } from './Timeline.tsx'

export const deploymentColumns: Column<Deployment>[] = [
  {
    id: 'type',
    header: 'Deployment',
    cell: (deployment) => (
      <Link
        from="/squids/$squidName/$squidSlot"
        to="/squids/$squidName/$squidSlot/deployments/$deployId"
        params={{ deployId: String(deployment.id) }}
        className="font-medium hover:underline"
      >
        {deploymentTitle(deployment)} <span className="tabular font-normal text-ink-3">#{deployment.id}</span>
      </Link>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    width: '160px',
    cell: (deployment) => <DeploymentChip deployment={deployment} />,
  },
  {
    id: 'image',
    header: 'Image kept',
    headerTip: 'You can roll back to images that Shoal has kept.',
    width: '130px',
    hideBelow: 'lg',
    cell: ({ image }) =>
      image === null ? <span className="text-ink-3">{emptyValue}</span> : <code>{shortImage(image)}</code>,
  },
  {
    id: 'user',
    header: 'By',
    width: '120px',
    hideBelow: 'md',
    cell: ({ user }) =>
      user ? <span title={user.email}>{user.fullName ?? user.email}</span> : <span className="text-ink-3">Shoal</span>,
  },
  {
    id: 'created',
    header: 'Started',
    width: '104px',
    hideBelow: 'xs',
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
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
