import type { Deployment } from '@shoal/contract'
import { callApi } from './query.ts'

const pageSize = 100
/** A chart with more marks than this is unreadable. */
const maxPages = 5

/** Deployments of one version or of all versions since `fromMs`, newest first. Limited to the newest pages. */
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
