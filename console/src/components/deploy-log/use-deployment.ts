import { isInProgress, type Deployment } from '@shoal/contract'
import { queryOptions, useQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import { pollWhile } from '../../api/poll.ts'
import { callApi, q } from '../../api/query.ts'

const pollOne = pollWhile<Deployment>(isInProgress, { fastMs: 1000, slowMs: 10_000 })

/** One deployment with its complete log, polled every second while it runs (spec 9). Each poll fetches only new log lines. */
export function deploymentQuery(code: string, id: string) {
  const { queryKey } = q('deployments.get', { params: { code, id } })
  return queryOptions({
    queryKey,
    queryFn: async ({ client, signal }) => {
      const loadedLogs = client.getQueryData<Deployment>(queryKey)?.logs ?? []
      const call = { params: { code, id }, query: { logsAfter: String(loadedLogs.length) } }
      const deployment = await callApi('deployments.get', call, signal)
      return { ...deployment, logs: [...loadedLogs, ...deployment.logs] }
    },
    refetchInterval: (query) => (query.state.data && !isInProgress(query.state.data) ? false : pollOne(query)),
  })
}

/** `deploymentQuery` for the active organization. */
export const useDeployment = (id: string) => useQuery(deploymentQuery(useOrg().code, id))
