import type { Deployment, DeploymentLog, LogLevel, Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { q } from '../../api/query.ts'
import { DeployLog } from '../../components/deploy-log/DeployLog.tsx'
import type { LineFilter } from '../../components/deploy-log/line-filter.ts'
import { useDeployment } from '../../components/deploy-log/use-deployment.ts'
import { deploymentTitle } from '../../components/deployment-title.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { LazySelect } from '../../components/LazySelect.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { formatDayMonthTime } from '../../lib/format.ts'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { buildLevels, useLogsSearch, useSetLogsSearch, type LogsSearch } from './filters.ts'
import { LogFilters } from './LogFilters.tsx'
import { SavedFilters } from './SavedFilters.tsx'

const skeleton = <SkeletonRows count={12} />
const hasBuild = ({ type }: Deployment) => type === 'DEPLOY' || type === 'DEPLOY_HARD_RESET'
/** A new deployment may begin while the page is open. */
const refetchInterval = 10_000

/** The newest deployments of a version, without their logs. */
export const deploymentsQuery = (code: string, squidId: number) =>
  q(
    'deployments.list',
    { params: { code }, query: { squidId: String(squidId), limit: '50', logs: 'false' } },
    { refetchInterval },
  )

/** The deployments that built an image, and the selected one of them: by default, the newest. */
export function selectBuild(deployments: readonly Deployment[], selectedId: string | undefined) {
  const builds = deployments.filter(hasBuild)
  return { builds, selected: builds.find(({ id }) => String(id) === selectedId) ?? builds[0] }
}

type Props = { squid: Pick<Squid, 'id' | 'organization' | 'processors' | 'api' | 'addons'> }

/** The log of the selected deployment that built an image; by default, of the newest one. */
export function BuildLog({ squid }: Props) {
  const { build } = useLogsSearch()
  const setSearch = useSetLogsSearch()
  const deployments = useQuery(deploymentsQuery(squid.organization.code, squid.id))
  const { builds, selected } = selectBuild(deployments.data ?? [], build)
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <LogFilters
          squid={squid}
          build={
            <LazySelect
              label="Deployment"
              className="w-56 max-xs:flex-1"
              options={builds.map((deployment) => ({ id: String(deployment.id), label: labelOf(deployment) }))}
              value={String(selected?.id ?? '')}
              onChange={(id) => setSearch({ build: id === String(builds[0]?.id) ? undefined : id })}
            />
          }
        />
        <div className="ml-auto">
          <SavedFilters />
        </div>
      </div>
      <QueryView query={deployments} what="The deployments" skeleton={skeleton}>
        {() => (selected ? <FilteredLog key={selected.id} id={selected.id} /> : <NoBuild />)}
      </QueryView>
    </div>
  )
}

/** `#12 · 23.11 14:03 · failed` */
const labelOf = ({ id, createdAt, failed }: Deployment) =>
  `#${id} · ${formatDayMonthTime(createdAt)}${failed === 'NO' ? '' : ' · failed'}`

const severityOf: Partial<Record<LogLevel, DeploymentLog['severity']>> = {
  INFO: 'info',
  WARNING: 'warn',
  ERROR: 'error',
}

/** The filter that the URL contains. Levels that do not occur in logs of builds are ignored. */
function filterOf({ level = [], search = '' }: LogsSearch): LineFilter {
  const severities = buildLevels.flatMap(({ id }) => (level.includes(id) ? (severityOf[id] ?? []) : []))
  return { search, severities: severities.length > 0 ? severities : null }
}

function FilteredLog({ id }: { id: number }) {
  const query = useDeployment(String(id))
  const filterKey = JSON.stringify(filterOf(useLogsSearch()))
  const filter = useMemo(() => JSON.parse(filterKey) as LineFilter, [filterKey])
  return (
    <QueryView query={query} what="The build log" skeleton={skeleton}>
      {(deployment) => (
        <DeployLog
          key={filterKey}
          deployment={deployment}
          filter={filter}
          title={`${deploymentTitle(deployment)} #${id}`}
          aside={
            <Link
              from="/squids/$squidName/$squidSlot"
              to="/squids/$squidName/$squidSlot/deployments/$deployId"
              params={{ deployId: String(id) }}
              className="whitespace-nowrap text-accent hover:underline"
            >
              Deployment
            </Link>
          }
        />
      )}
    </QueryView>
  )
}

const NoBuild = () => (
  <EmptyState title="No build log" text="None of the last 50 deployments of this version built an image." />
)
