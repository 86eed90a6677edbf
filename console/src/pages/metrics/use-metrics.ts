import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { deploymentsSince } from '../../api/deployments.ts'
import { callApi } from '../../api/query.ts'
import { askedTimes, isCustom, type RangeSearch } from '../../components/time-range/time-range.ts'
import { ranges } from './ranges.ts'

/** Spec 9. */
const pollMs = 10_000

export type Asked = { code: string; squidId: string; search: RangeSearch }

/** A range that ends now is asked for again and again, each time until then. One that is over stays as it was. */
function timing({ search }: Asked) {
  const isOver = isCustom(search) && search.to !== undefined && Date.parse(search.to) <= Date.now()
  return {
    refetchInterval: isOver ? (false as const) : pollMs,
    placeholderData: keepPreviousData,
  }
}

const timesOf = ({ search }: Asked) => askedTimes(ranges, search, Date.now())

export function useIngress(asked: Asked) {
  const params = { code: asked.code, squidId: asked.squidId }
  return useQuery({
    queryKey: ['metrics.getSquidIngress', { params }, asked.search] as const,
    queryFn: ({ signal }) => callApi('metrics.getSquidIngress', { params, query: timesOf(asked) }, signal),
    ...timing(asked),
  })
}

export function useUsage(asked: Asked) {
  const params = { code: asked.code, squidId: asked.squidId }
  return useQuery({
    queryKey: ['metrics.getSquidUsage', { params }, asked.search] as const,
    queryFn: ({ signal }) => callApi('metrics.getSquidUsage', { params, query: timesOf(asked) }, signal),
    ...timing(asked),
  })
}

/** Those that began since the beginning of the range. */
export function useDeploymentsSince(asked: Asked) {
  return useQuery({
    queryKey: ['deployments.list', { params: { code: asked.code } }, 'since', asked.squidId, asked.search] as const,
    queryFn: ({ signal }) => deploymentsSince(asked, Date.parse(timesOf(asked).from ?? ''), signal),
    ...timing(asked),
  })
}
