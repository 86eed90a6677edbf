import type { Deployment, Squid } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { Download, Pause, Play } from 'lucide-react'
import { useState } from 'react'
import { useOrg } from '../../api/active-org.ts'
import { open } from '../../api/client.ts'
import { hasStatus } from '../../api/error-text.ts'
import type { Prefetch } from '../../api/prefetch.ts'
import { prefetchVersion, versionQuery, type VersionPath } from '../../api/version.ts'
import { deploymentQuery } from '../../components/deploy-log/use-deployment.ts'
import { EmptyState } from '../../components/EmptyState.tsx'
import { ErrorState } from '../../components/ErrorState.tsx'
import { QueryView } from '../../components/QueryView.tsx'
import { StatusDot } from '../../components/StatusDot.tsx'
import { useDownload } from '../../components/use-download.ts'
import { stringifySearch } from '../../lib/search-params.ts'
import { Button } from '../../ui/Button.tsx'
import { SkeletonRows } from '../../ui/Skeleton.tsx'
import { BuildLog, deploymentsQuery, selectBuild } from './BuildLog.tsx'
import { buildSource, useLogsSearch, useSetLogsSearch, type LogsSearch } from './filters.ts'
import { DisplayToggles } from './DisplayToggles.tsx'
import { LogFilters } from './LogFilters.tsx'
import type { FeedState, LiveStatus, LogFeed } from './feed/log-feed.ts'
import { LogView } from './view/LogView.tsx'
import { SavedFilters } from './SavedFilters.tsx'
import { useLogFeed } from './feed/use-log-feed.ts'

/** Only the log of a build is read with queries. The programs' log is a stream. */
export const prefetch: Prefetch<VersionPath> = (context) => {
  const { client, org, search } = context
  if (![search['container']].flat().includes(buildSource)) return
  const build = search['build'] === undefined ? undefined : String(search['build'])
  prefetchVersion(context, ({ id }) => {
    const startLog = (deployments: Deployment[]) => {
      const { selected } = selectBuild(deployments, build)
      if (selected) void client.prefetchQuery(deploymentQuery(org.code, String(selected.id)))
    }
    // The page reports a failure.
    void client.fetchQuery(deploymentsQuery(org.code, id)).then(startLog, () => null)
  })
}

/** Shows the logs of a version's programs, or of a build. */
export default function LogsTab() {
  const { squidName, squidSlot } = useParams({ from: '/app/squids/$squidName/$squidSlot/logs' })
  const params = { code: useOrg().code, reference: `${squidName}@${squidSlot}` }
  const squid = useQuery(versionQuery(params))
  const isBuild = useLogsSearch().container?.includes(buildSource) === true
  return (
    <QueryView query={squid} what="This version" skeleton={<SkeletonRows count={12} />}>
      {(version) => (isBuild ? <BuildLog squid={version} /> : <ProgramLogs version={version} params={params} />)}
    </QueryView>
  )
}

type ProgramLogsProps = { version: Squid; params: { code: string; reference: string } }

/** Shows the lines of the past, page by page, and new lines as they arrive (spec 2.9, Logs). */
function ProgramLogs({ version, params }: ProgramLogsProps) {
  const { order: _, ...filters } = useLogsSearch()
  const { feed, state, logsQuery, key } = useLogFeed(params, filters)
  const [followState, setFollowState] = useState({ key, isOn: true })
  const isFollowing = followState.key === key ? followState.isOn : logsQuery.line === undefined
  const setFollowing = (isOn: boolean) => {
    feed.pauseTrimming(!isOn)
    setFollowState((current) => (current.key === key && current.isOn === isOn ? current : { key, isOn }))
  }
  const setSearch = useSetLogsSearch()
  const resume = () => {
    const isEndUnloaded = state.live === 'overflowed' || state.window.newer !== null
    if (isEndUnloaded && filters.line) return setSearch({})
    if (isEndUnloaded) feed.jumpToEnd()
    setFollowing(true)
  }
  const { filter, from, to } = logsQuery
  const { isPending, download } = useDownload(
    () => open('logs.download', { params, query: { ...filter, from, to } }),
    `${params.reference}.log`,
  )
  return (
    <div className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <LogFilters squid={version} />
        <div className="ml-auto flex flex-wrap items-center gap-2">
          {logsQuery.to === undefined && state.status === 'ready' && (
            <>
              <LiveIndicator live={state.live} isFollowing={isFollowing} />
              <Button
                icon={isFollowing ? <Pause size={14} aria-hidden /> : <Play size={14} aria-hidden />}
                onClick={() => (isFollowing ? setFollowing(false) : resume())}
              >
                {isFollowing ? 'Pause' : 'Resume'}
              </Button>
            </>
          )}
          <SavedFilters />
          <DisplayToggles />
          <Button
            aria-label="Download"
            icon={<Download size={14} aria-hidden />}
            isPending={isPending}
            onClick={download}
          >
            <span className="max-xxs:hidden">Download</span>
          </Button>
        </div>
      </div>
      <Lines
        key={key}
        feed={feed}
        state={state}
        filters={filters}
        isFollowing={isFollowing}
        onFollowingChange={setFollowing}
        onResume={resume}
        reference={params.reference}
      />
    </div>
  )
}

type LinesProps = {
  feed: LogFeed
  state: FeedState
  filters: LogsSearch
  isFollowing: boolean
  onFollowingChange: (isFollowing: boolean) => void
  /** Jumps to the newest line. */
  onResume: () => void
  reference: string
}

function Lines({ feed, state, filters, isFollowing, onFollowingChange, onResume, reference }: LinesProps) {
  const order = useLogsSearch().order ?? 'asc'
  const setSearch = useSetLogsSearch()
  const getLink = useLineLink(reference)
  const { status, error, window: logWindow, pageError } = state
  if (status === 'loading') return <SkeletonRows count={16} />
  if (status === 'failed')
    return hasStatus(error, 404) && filters.line ? (
      <LineNotFound onShowNewest={() => setSearch({})} />
    ) : (
      <ErrorState what="The logs could not be loaded" error={error} onRetry={feed.open} />
    )
  if (logWindow.lines.length === 0 && logWindow.older === null && logWindow.newer === null)
    return <NoLines filters={filters} />
  return (
    <>
      {pageError !== null && (
        <ErrorState what="More lines could not be loaded" error={pageError} onRetry={feed.retry} />
      )}
      <LogView
        feed={feed}
        state={state}
        order={order}
        onOrderChange={(next) => {
          setSearch({ order: next === 'asc' ? undefined : next, line: filters.line })
          onFollowingChange(logWindow.newer === null)
        }}
        search={filters.search ?? ''}
        target={filters.line}
        getLink={getLink}
        onShowContext={(line) => setSearch({ container: undefined, level: undefined, search: undefined, line }, 'push')}
        isFollowing={isFollowing}
        onFollowingChange={onFollowingChange}
        onResume={onResume}
      />
    </>
  )
}

function LineNotFound({ onShowNewest }: { onShowNewest: () => void }) {
  return (
    <EmptyState
      title="Log line not found"
      text="Shoal keeps log lines for a limited time and deletes them with their version."
      action={<Button onClick={onShowNewest}>Show the newest lines</Button>}
    />
  )
}

function NoLines({ filters: { search, level, container } }: { filters: LogsSearch }) {
  const setSearch = useSetLogsSearch()
  if (!search && !level && !container)
    return (
      <EmptyState
        title="No log lines"
        text="The programs of the version printed nothing in this time range. New lines appear here as soon as they are printed."
        action={<Button onClick={() => setSearch({ container: [buildSource] })}>Show the build log</Button>}
      />
    )
  return (
    <EmptyState
      title="No lines match"
      text="No line in this time range matches the filters. New lines that match appear here automatically."
      action={
        <Button onClick={() => setSearch({ search: undefined, level: undefined, container: undefined })}>
          Clear filters
        </Button>
      }
    />
  )
}

function LiveIndicator({ live, isFollowing }: { live: LiveStatus; isFollowing: boolean }) {
  if (live === 'off' || live === 'overflowed') return null
  if (live !== 'live')
    return (
      <StatusDot tone="warn" isPulsing>
        {live === 'connecting' ? 'Connecting' : 'Reconnecting'}
      </StatusDot>
    )
  return isFollowing ? (
    <StatusDot tone="good" isPulsing>
      Live
    </StatusDot>
  ) : (
    <StatusDot tone="neutral">Paused</StatusDot>
  )
}

/** Returns a function that returns the URL of one line, with the current filters. The URL contains the organization, so that users can share it. */
function useLineLink(reference: string): (id: string) => string {
  const { code } = useOrg()
  const search = useLogsSearch()
  const [name, slot] = reference.split('@')
  return (line) =>
    `${window.location.origin}/squids/${name}/${slot}/logs${stringifySearch({ ...search, organization: code, line })}`
}
