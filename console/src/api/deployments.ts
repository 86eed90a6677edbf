import { isInProgress, type Deployment } from '@shoal/contract'
import { qPages } from './pages.ts'
import { pollWhile } from './poll.ts'
import { callApi } from './query.ts'

/** Deployments are polled every second while one runs, otherwise every ten seconds (spec 9). */
export const deploymentPolling = { fastMs: 1000, slowMs: 10_000 }
const refetchInterval = pollWhile<{ pages: Deployment[][] }>(
  ({ pages }) => pages.some((page) => page.some(isInProgress)),
  deploymentPolling,
)

/** Deployments of a version, newest first, without logs. */
export const deploymentsQuery = (code: string, squidId: string) =>
  qPages('deployments.list', { params: { code }, query: { squidId, logs: 'false' } }, { refetchInterval })

const pageSize = 100
/** A chart with more marks than these pages contain is unreadable. */
const maxPages = 5

/**
 * The deployments of one version, or of all versions without `squidId`, since `fromMs`, newest first: at most the newest 500. The last
 * page may contain some that are older than `fromMs`.
 */
export async function deploymentsSince(
  { code, squidId }: { code: string; squidId?: string },
  fromMs: number,
  signal: AbortSignal,
): Promise<Deployment[]> {
  const deployments: Deployment[] = []
  for (let pages = 0, before: string | undefined; pages < maxPages; pages++) {
    const page = await callApi(
      'deployments.list',
      {
        params: { code },
        query: { logs: 'false', limit: String(pageSize), ...(squidId && { squidId }), ...(before && { before }) },
      },
      signal,
    )
    deployments.push(...page)
    const oldest = page.at(-1)
    if (!oldest || page.length < pageSize || Date.parse(oldest.createdAt) < fromMs) break
    before = String(oldest.id)
  }
  return deployments
}
