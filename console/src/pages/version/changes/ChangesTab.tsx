import { can, type Deployment, type DeploymentChanges } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { hasStatus } from '../../../api/error-text.ts'
import type { Prefetch } from '../../../api/prefetch.ts'
import { prefetchVersion, type VersionPath } from '../../../api/version.ts'
import { q } from '../../../api/query.ts'
import { membershipOf, useDeniedReason } from '../../../components/access.tsx'
import { useSetSearch } from '../../../components/data-table/url-state.ts'
import { deploysCode, deploymentTitle } from '../../../components/deployment-title.ts'
import { EmptyState } from '../../../components/EmptyState.tsx'
import { LazySelect } from '../../../components/LazySelect.tsx'
import { QueryView } from '../../../components/QueryView.tsx'
import { formatDayMonthTime, formatInteger } from '../../../lib/format.ts'
import { useVersion, useVersionParams } from '../use-version.ts'
import { FileDiff } from './FileDiff.tsx'
import { byImportance, changeOf, type Change } from './hunks.ts'

const route = getRouteApi('/app/squids/$squidName/$squidSlot/deployments/$deployId/changes')

const changesQuery = (code: string, id: string, against: string | undefined) =>
  q('deployments.getChanges', { params: { code, id }, query: against ? { against } : {} }, { staleTime: Infinity })

/** The latest deployments of a version. */
const latestQuery = (code: string, squidId: number) =>
  q('deployments.list', { params: { code }, query: { squidId: String(squidId), limit: '50', logs: 'false' } })

export const prefetch: Prefetch<VersionPath & { deployId: string }> = (context) => {
  const { client, org, params, search } = context
  if (!can(membershipOf(org), 'squids.write')) return
  const against = typeof search['against'] === 'string' ? search['against'] : undefined
  void client.prefetchQuery(changesQuery(org.code, params.deployId, against))
  prefetchVersion(context, ({ id }) => void client.prefetchQuery(latestQuery(org.code, id)))
}

/** Shows what changed in the code between two deployments. */
export default function ChangesTab() {
  const { deployId } = route.useParams()
  const deniedReason = useDeniedReason('squids.write')
  return (
    <>
      <header className="mb-3.5 flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="text-lg font-semibold">
          <Link
            from="/squids/$squidName/$squidSlot"
            to="/squids/$squidName/$squidSlot/deployments/$deployId"
            params={{ deployId }}
            className="font-normal text-accent hover:underline"
          >
            Deployment #{deployId}
          </Link>
          <span aria-hidden className="px-1.5 font-normal text-ink-3">
            /
          </span>
          What changed
        </h2>
      </header>
      {deniedReason === null ? (
        <Changes key={deployId} id={deployId} />
      ) : (
        <EmptyState title="The code is not shown to you" text={deniedReason} />
      )}
    </>
  )
}

function Changes({ id }: { id: string }) {
  const { code } = useVersionParams()
  const { against } = route.useSearch()
  const changes = useQuery(changesQuery(code, id, against))
  return (
    <>
      <BaselineSelect id={id} value={against ?? String(changes.data?.against ?? '')} />
      {hasStatus(changes.error, 404) ? (
        <EmptyState
          title="No recorded files"
          text="Shoal records the files of a deployment when it unpacks the archive. The files of one of these deployments were not recorded, because it failed earlier or is too old."
        />
      ) : (
        <QueryView query={changes} what="The changes">
          {(data) => <Files changes={data} />}
        </QueryView>
      )}
    </>
  )
}

/** Selects the deployment to compare with, from the latest ones of the version. */
function BaselineSelect({ id, value }: { id: string; value: string }) {
  const { code } = useVersionParams()
  const setSearch = useSetSearch(route)
  const { data = [] } = useQuery(latestQuery(code, useVersion().id))
  const options = data
    .filter((deployment) => deploysCode(deployment.type) && String(deployment.id) !== id)
    .map((deployment) => ({ id: String(deployment.id), label: labelOf(deployment) }))
  if (options.length === 0) return null
  return (
    <div className="mb-3.5 flex flex-wrap items-center gap-2">
      <span className="text-ink-2">Compared with</span>
      <LazySelect
        label="Compared with"
        className="w-72 max-xs:flex-1"
        placeholder="Select a deployment"
        options={options}
        value={value}
        onChange={(against) => setSearch({ against }, 'push')}
      />
    </div>
  )
}

/** `#12 Rollback · 23.11 14:03 · failed` */
const labelOf = (deployment: Deployment) =>
  [
    `#${deployment.id} ${deploymentTitle(deployment)}`,
    formatDayMonthTime(deployment.createdAt),
    ...(deployment.failed === 'NO' ? [] : ['failed']),
  ].join(' · ')

function Files({ changes: { against, files, unchanged, isComplete } }: { changes: DeploymentChanges }) {
  if (against === null)
    return (
      <EmptyState
        title="Nothing to compare with"
        text="No successful deployment of this version before this one has recorded files."
      />
    )
  if (files.length === 0)
    return (
      <EmptyState
        title="No changes"
        text={`All ${formatInteger(unchanged)} files are the same as in deployment #${against}.`}
      />
    )
  const numberOf = (change: Change) => files.filter((file) => changeOf(file) === change).length
  return (
    <div className="flex flex-col gap-3">
      <p role="status" className="text-ink-2">
        {formatInteger(numberOf('changed'))} changed, {formatInteger(numberOf('added'))} added,{' '}
        {formatInteger(numberOf('removed'))} removed, {formatInteger(unchanged)} unchanged
        {!isComplete && '. Only the first 2,000 files of an archive are compared.'}
      </p>
      {byImportance(files).map((file) => (
        <FileDiff key={file.path} file={file} />
      ))}
    </div>
  )
}
