import { isInProgress, type Deployment, type SquidSummary } from '@shoal/contract'
import { queryOptions, useQuery, type QueryClient, type UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import { findOrg, useOrg } from './active-org.ts'
import { createListReader } from './long-list.ts'
import { pollWhile } from './poll.ts'
import { callApi, invalidate, q } from './query.ts'

/** Poll intervals of the list, and of deployments while one runs (spec 9). */
const listPollMs = 10_000
const inProgressPollMs = 1000

/** The versions whose rows of the list are on screen. */
let visibleSquids: readonly SquidSummary[] = []
export const setVisibleSquids = (squids: readonly SquidSummary[]): void => void (visibleSquids = squids)

const readers = new Map<string, ReturnType<typeof createListReader<SquidSummary>>>()

/** The versions of an organization, polled every ten seconds. In a long list, only the visible rows are fetched each time (`long-list.ts`). */
export function squidsQuery(code: string) {
  const params = { code }
  const read = readers.get(code) ?? createListReader()
  readers.set(code, read)
  const { queryKey } = q('squids.listSummaries', { params })
  return queryOptions({
    queryKey,
    queryFn: ({ client, signal }) =>
      read(client.getQueryState(queryKey), visibleSquids, (ids) =>
        callApi('squids.listSummaries', { params, query: ids ? { ids: ids.join(',') } : {} }, signal),
      ),
    refetchInterval: listPollMs,
  })
}

/** Requests per version and day. The server's default range is the last seven days. */
export const ingressQuery = (code: string) =>
  q('metrics.getIngress', { params: { code } }, { refetchInterval: listPollMs, staleTime: listPollMs })

const hasAny = (deployments: readonly Deployment[]) => deployments.length > 0

const inProgressPolling = pollWhile<Deployment[]>(hasAny, { fastMs: inProgressPollMs, slowMs: listPollMs })

const idsOf = (deployments: readonly Deployment[]) => String(deployments.map(({ id }) => id))

/** The running deployments, polled. When one begins or ends, the versions are refetched (spec 4). */
export function inProgressQuery(code: string) {
  const call = { params: { code }, query: { statusGroup: 'IN_PROGRESS', logs: 'false' } } as const
  const { queryKey } = q('deployments.list', call)
  return queryOptions({
    queryKey,
    queryFn: async ({ client, signal }) => {
      const previous = client.getQueryData<Deployment[]>(queryKey)
      const running = await callApi('deployments.list', call, signal)
      if (previous && idsOf(previous) !== idsOf(running)) void invalidate(client, 'squids.listSummaries')
      return running
    },
    refetchInterval: inProgressPolling,
  })
}

/** Starts to fetch the data of the list of squids while the code of its page loads. */
export function prefetchSquids(client: QueryClient): void {
  const org = findOrg(client)
  if (!org) return
  void client.prefetchQuery(squidsQuery(org.code))
  void client.prefetchQuery(inProgressQuery(org.code))
}

/** The versions of the active organization, polled every ten seconds, and refetched when a deployment begins or ends (spec 4). */
export function useSquids(): UseQueryResult<SquidSummary[]> {
  const { code } = useOrg()
  useQuery(inProgressQuery(code))
  return useQuery(squidsQuery(code))
}

/** A running deployment with its steps; undefined before the next poll, and when it no longer runs. */
export function useRunningDeployment(id: number): Deployment | undefined {
  const { code } = useOrg()
  return useQuery(inProgressQuery(code)).data?.find((deployment) => deployment.id === id)
}

/** The newest deployment, polled every second, since the user waits for it. */
export const newestDeploymentQuery = (code: string) =>
  q(
    'deployments.list',
    { params: { code }, query: { limit: '1', logs: 'false' } },
    { refetchInterval: pollWhile<Deployment[]>(() => true, { fastMs: inProgressPollMs, slowMs: listPollMs }) },
  )

/**
 * The newest deployment that was running at the first poll or began later; null until there is one.
 */
export function useNextDeployment(): Deployment | null {
  const { code } = useOrg()
  const newest = useQuery(newestDeploymentQuery(code)).data
  const [lastOldId, setLastOldId] = useState<number | null>(null)
  const deployment = newest?.[0]
  if (newest && lastOldId === null) setLastOldId(deployment && !isInProgress(deployment) ? deployment.id : 0)
  return deployment && lastOldId !== null && deployment.id > lastOldId ? deployment : null
}
