import { displayStatus, isHibernated, type SquidSummary } from '@shoal/contract'
import { Link } from '@tanstack/react-router'
import { createContext, Suspense, use } from 'react'
import { lazyPart } from '../../lib/lazy.tsx'
import type { Column } from '../../components/data-table/columns.ts'
import { MiniBars } from '../../components/MiniBars.tsx'
import { RelativeTime } from '../../components/RelativeTime.tsx'
import { FailedDeployMark } from '../../components/squid/FailedDeployMark.tsx'
import { SquidStatus } from '../../components/squid/SquidStatus.tsx'
import { statusReason } from '../../components/squid/status-reason.ts'
import { shortSyncSummary } from '../../components/squid/sync.ts'
import { formatCount, formatDayMonth, formatInteger, emptyValue } from '../../lib/format.ts'
import { Tag } from '../../ui/Badge.tsx'
import type { WeekOfRequests } from './daily-requests.ts'

const DeploymentStep = lazyPart(() => import('./DeploymentStep.tsx'))

/** The requests of the last week; null while loading. They are in a context, so that only the bars, not the rows, render again when they arrive. */
export const RequestsContext = createContext<WeekOfRequests | null>(null)

/** The columns of the list of squids. */
export const squidColumns: Column<SquidSummary>[] = [
  {
    id: 'name',
    header: 'Name',
    cell: (squid) => <Name squid={squid} />,
    // The name does not include the slot, so the versions of each squid remain in the server's order, newest first.
    sortBy: ({ name }) => name,
  },
  {
    id: 'status',
    header: 'Status',
    width: '144px',
    narrowWidth: '146px',
    cell: (squid) => (
      <div className="max-xs:py-1.5">
        <Status squid={squid} />
        <span className="block truncate text-xs text-ink-3 empty:hidden xs:hidden">
          <Progress squid={squid} />
        </span>
      </div>
    ),
  },
  {
    id: 'sync',
    header: 'Sync',
    width: '26%',
    hideBelow: 'xs',
    cell: (squid) => (
      <>
        <FailedDeployMark squid={squid} className="mr-2.5 max-lg:hidden" />
        <span className="text-ink-3 empty:before:content-['–']">
          <Progress squid={squid} />
        </span>
      </>
    ),
  },
  {
    id: 'requests',
    header: 'Last 7d Req.',
    headerTip: 'Total number of queries made to the squid version in the last 7 days',
    isNumber: true,
    width: '150px',
    hideBelow: 'lg',
    cell: ({ id }) => <Requests squidId={id} />,
  },
  {
    id: 'deployedAt',
    header: 'Deploy date',
    width: '132px',
    hideBelow: 'xs',
    // A version without a successful deployment is sorted as the newest.
    sortBy: ({ deployedAt }) => (deployedAt === null ? Number.MAX_SAFE_INTEGER : Date.parse(deployedAt)),
    cell: ({ deployedAt }) => (deployedAt === null ? emptyValue : <RelativeTime at={deployedAt} />),
  },
]

/**
 * The status of a version. It describes the running code, so an icon marks a failed deployment. On wide screens, the column Sync shows
 * the failed deployment as text instead.
 */
const Status = ({ squid }: { squid: SquidSummary }) => (
  <>
    <SquidStatus squid={squid} />
    <FailedDeployMark squid={squid} isIcon className="ml-2 align-middle lg:hidden" />
  </>
)

function Name({ squid: { name, slot, tags } }: { squid: SquidSummary }) {
  return (
    <span className="flex items-center gap-1.5">
      <Link
        to="/squids/$squidName/$squidSlot"
        params={{ squidName: name, squidSlot: slot }}
        aria-label={`${name}@${slot}`}
        className="shrink-0 rounded-sm font-mono text-sm hover:underline"
      >
        @{slot}
      </Link>
      {tags.map((tag) => (
        <Tag key={tag.name} isMain={tag.name === 'production' || tag.name === 'prod'}>
          {tag.name}
        </Tag>
      ))}
    </span>
  )
}

/** The step of a running deployment, the first cause if the version is degraded, or the progress of the sync. Empty while none is known. */
function Progress({ squid }: { squid: SquidSummary }) {
  if (squid.lastDeploy?.running)
    return (
      <Suspense>
        <DeploymentStep {...squid.lastDeploy} />
      </Suspense>
    )
  if (displayStatus(squid) === 'DEGRADED')
    return <span className="text-bad">{statusReason(squid).split('\n', 1)[0]}</span>
  return isHibernated(squid) ? null : shortSyncSummary(squid.processors ?? [])
}

function Requests({ squidId }: { squidId: number }) {
  const week = use(RequestsContext)
  if (!week) return emptyValue
  const { days, total } = week.requestsOf(squidId)
  const dayOf = (index: number) => formatDayMonth(week.dayStartsMs[index] ?? 0)
  const tip = days.map((count, index) => `${dayOf(index)}: ${formatInteger(count)}`).join('\n')
  return (
    <span className="flex items-center justify-between gap-2">
      <MiniBars label="Requests of the last 7 days" values={days} tip={tip} />
      {formatCount(total)}
    </span>
  )
}
