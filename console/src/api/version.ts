import { isDeploying, isInProgress, type Deployment, type Squid, type SquidSummary } from '@shoal/contract'
import { queryOptions, replaceEqualDeep, type QueryClient } from '@tanstack/react-query'
import type { EndpointName } from './client.ts'
import { pollWhile } from './poll.ts'
import type { PageContext } from './prefetch.ts'
import { callApi, q } from './query.ts'
import { squidsQuery } from './squids.ts'

/** Polls every second while a deployment runs (spec 9), otherwise every five seconds. */
const refetchInterval = pollWhile<Squid>(isDeploying, { fastMs: 1000, slowMs: 5000 })

type VersionParams = { code: string; reference: string }

/**
 * A version without its manifest and package.json, which are long and change only with a deployment. A response also updates the
 * version's row in the cached list, so that the list and the command palette never show an older state than the version's page.
 */
export function versionQuery(params: VersionParams) {
  const call = { params, query: { files: 'false' as const } }
  return queryOptions({
    queryKey: q('squids.get', call).queryKey,
    queryFn: async ({ client, signal }): Promise<Squid> => {
      const squid = await callApi('squids.get', call, signal)
      changeRow(client, params, (row) => summaryOf(squid, row))
      return squid
    },
  })
}

/** The version of the page, polled. */
export const polledVersionQuery = (params: VersionParams) => ({ ...versionQuery(params), refetchInterval })

/** A version with its manifest and package.json. */
export const versionFilesQuery = (params: VersionParams) => q('squids.get', { params }, { refetchInterval: 30_000 })

/** The parameters in the URL of the pages of a version. */
export type VersionPath = { squidName: string; squidSlot: string }

/**
 * Starts to fetch the version. `startQueries` starts the queries that depend on the version: immediately if the cache has the version
 * or the row of the version in the list, and again when the response arrives. The second call sends only requests that the first has not sent.
 */
export function prefetchVersion(
  { client, org, params: { squidName, squidSlot } }: PageContext<VersionPath>,
  startQueries: (
    squid: Pick<SquidSummary, 'id' | 'tags' | 'status' | 'createdAt' | 'lastDeploy' | 'api' | 'slot'>,
  ) => void = () => {},
): void {
  const reference = `${squidName}@${squidSlot}`
  const query = versionQuery({ code: org.code, reference })
  const rows = client.getQueryData(squidsQuery(org.code).queryKey)
  const known = client.getQueryData(query.queryKey) ?? rows?.find((row) => row.reference === reference)
  if (known) startQueries(known)
  // The page reports a failure.
  void client.fetchQuery(query).then(startQueries, () => null)
}

/** Shows a requested deployment on all pages of its version immediately, before the next poll. */
export function seedDeployment(client: QueryClient, deployment: Deployment): void {
  if (!deployment.squid || !isInProgress(deployment)) return
  const { id, type, status, failed } = deployment
  const started = { status: 'DEPLOYING', lastDeploy: { id, type, status, failed, running: true } } as const
  const params = { code: deployment.organization.code, reference: deployment.squid.reference }
  client.setQueriesData<Squid>({ queryKey: ['squids.get', { params }] }, (squid) => squid && { ...squid, ...started })
  changeRow(client, params, (row) => ({ ...row, ...started }))
}

/** What every action on a version changes (spec 4): the queries it invalidates, and the deployment that it starts. */
export const versionChange = {
  invalidates: ['squids.listSummaries', 'squids.list', 'squids.get', 'deployments.list'] satisfies EndpointName[],
  seeds: seedDeployment,
}

/**
 * Changes the row of a version in the cached list. Keeps the time and the invalidation of the cache entry, because the other rows were
 * not refetched.
 */
function changeRow(
  client: QueryClient,
  { code, reference }: VersionParams,
  change: (row: SquidSummary) => SquidSummary,
): void {
  const { queryKey } = squidsQuery(code)
  const state = client.getQueryState(queryKey)
  const row = state?.data?.find((candidate) => candidate.reference === reference)
  const changed = row && replaceEqualDeep(row, change(row))
  if (!state || !changed || changed === row) return
  client.setQueryData(queryKey, (rows) => rows?.map((other) => (other === row ? changed : other)), {
    updatedAt: state.dataUpdatedAt,
  })
  if (state.isInvalidated) void client.invalidateQueries({ queryKey, refetchType: 'none' })
}

/** Updates a row of the list with the fields that it shares with the version. */
const summaryOf = (squid: Squid, row: SquidSummary): SquidSummary => ({
  ...row,
  ...Object.fromEntries(Object.entries(squid).filter(([field]) => field in row)),
})
