import { useInfiniteQuery } from '@tanstack/react-query'
import { useOrg } from '../../api/active-org.ts'
import { alertsMs } from '../../api/alerts.ts'
import { callApi } from '../../api/query.ts'

const pageSize = 50

const paging = {
  initialPageParam: '',
  getNextPageParam: (page: readonly { id: number }[]) => (page.length < pageSize ? undefined : String(page.at(-1)?.id)),
  refetchInterval: alertsMs,
}

const cursorQuery = (before: string) => (before === '' ? {} : { before })

/** Ended alerts, the newest first. A refetch reloads every loaded page. */
export function useEndedAlerts() {
  const { code } = useOrg()
  return useInfiniteQuery({
    queryKey: ['alerts.list', { params: { code }, query: { state: 'ended' } }, 'pages'] as const,
    queryFn: ({ pageParam, signal }) =>
      callApi('alerts.list', { params: { code }, query: { state: 'ended', ...cursorQuery(pageParam) } }, signal),
    ...paging,
  })
}

/** Deliveries, the newest first. */
export function useDeliveries() {
  const { code } = useOrg()
  return useInfiniteQuery({
    queryKey: ['alerts.listDeliveries', { params: { code } }, 'pages'] as const,
    queryFn: ({ pageParam, signal }) =>
      callApi('alerts.listDeliveries', { params: { code }, query: cursorQuery(pageParam) }, signal),
    ...paging,
  })
}
