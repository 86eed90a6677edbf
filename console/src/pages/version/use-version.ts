import type { Squid, SquidSummary } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useOrg } from '../../api/active-org.ts'
import type { PageContext } from '../../api/prefetch.ts'
import { squidsQuery } from '../../api/squids.ts'
import { polledVersionQuery, versionQuery } from '../../api/version.ts'

/** `code` and `reference` of the version in the URL. */
export function useVersionParams(): { code: string; reference: string } {
  const { squidName, squidSlot } = useParams({ from: '/app/squids/$squidName/$squidSlot' })
  return { code: useOrg().code, reference: `${squidName}@${squidSlot}` }
}

/** The polled query of the version in the URL. */
export const useVersionQuery = () => useQuery(polledVersionQuery(useVersionParams()))

/** The parameters in the URL of the pages of a version. */
export type VersionPath = { squidName: string; squidSlot: string }

/**
 * Starts to fetch the version. `startQueries` starts the queries that depend on the version: immediately if the cache has the version
 * or the row of the version in the list, and again when the response arrives. The second call sends only requests that the first has not sent.
 */
export function prefetchVersion(
  { client, org, params: { squidName, squidSlot } }: PageContext<VersionPath>,
  startQueries: (squid: Pick<SquidSummary, 'id' | 'tags'>) => void = () => {},
): void {
  const reference = `${squidName}@${squidSlot}`
  const query = versionQuery({ code: org.code, reference })
  const rows = client.getQueryData(squidsQuery(org.code).queryKey)
  const known = client.getQueryData(query.queryKey) ?? rows?.find((row) => row.reference === reference)
  if (known) startQueries(known)
  // The page reports a failure.
  void client.fetchQuery(query).then(startQueries, () => null)
}

/** The version of the page. Only for tabs of `VersionPage`, which renders them after it has loaded the version. */
export function useVersion(): Squid {
  const { data } = useVersionQuery()
  if (!data) throw new Error('useVersion was called outside the version page')
  return data
}
