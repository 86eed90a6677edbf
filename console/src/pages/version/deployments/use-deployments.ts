import { isInProgress, type Deployment } from '@shoal/contract'
import { infiniteQueryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { pollWhile } from '../../../api/poll.ts'
import { callApi, q } from '../../../api/query.ts'
import { lastDeploymentOf } from './last-deployment.ts'
import { useVersion, useVersionParams } from '../use-version.ts'

/** Every second while a deployment runs, otherwise every ten seconds (spec 9). */
const pollIntervals = { fastMs: 1000, slowMs: 10_000 }
const pageSize = 50

type Pages = { pages: Deployment[][] }
const pollPages = pollWhile<Pages>(({ pages }) => pages.some((page) => page.some(isInProgress)), pollIntervals)

/** Deployments of a version, newest first, without logs. A refetch reloads every loaded page. */
export const deploymentsQuery = (code: string, squidId: string) =>
  infiniteQueryOptions({
    queryKey: ['deployments.list', { params: { code }, query: { squidId, logs: 'false' } }, 'pages'] as const,
    queryFn: ({ pageParam, signal }) => {
      const query = {
        squidId,
        logs: 'false',
        limit: String(pageSize),
        ...(pageParam && { before: pageParam }),
      } as const
      return callApi('deployments.list', { params: { code }, query }, signal)
    },
    initialPageParam: '',
    getNextPageParam: (page) => (page.length < pageSize ? undefined : String(page.at(-1)?.id)),
    refetchInterval: pollPages,
  })

/** The deployments of the version of the page. */
export const useDeployments = () => useInfiniteQuery(deploymentsQuery(useVersionParams().code, String(useVersion().id)))

const pollNewest = pollWhile<Deployment[]>((deployments) => deployments.some(isInProgress), pollIntervals)

/** The number of newest deployments among which to find the last one. */
const lastCount = 20

/** The newest deployments of a version, among which `lastDeploymentOf` finds the last one. */
export function newestQuery(code: string, squidId: string) {
  const query = { squidId, logs: 'false', limit: String(lastCount) } as const
  return q('deployments.list', { params: { code }, query }, { refetchInterval: pollNewest })
}

/** The last deployment of the version (`lastDeploymentOf`); undefined while loading, null if there is none. */
export function useLastDeployment(): Deployment | null | undefined {
  const { data } = useQuery(newestQuery(useVersionParams().code, String(useVersion().id)))
  return data && lastDeploymentOf(data)
}
