import { infiniteQueryOptions } from '@tanstack/react-query'
import { alertsPollMs } from '../../api/alerts.ts'
import { callApi, q } from '../../api/query.ts'

const pageSize = 50

const paging = {
  initialPageParam: '',
  getNextPageParam: (page: readonly { id: number }[]) => (page.length < pageSize ? undefined : String(page.at(-1)?.id)),
  refetchInterval: alertsPollMs,
}

const cursorQuery = (before: string) => (before === '' ? {} : { before })

/** Ended alerts, the newest first. A refetch reloads every loaded page. */
export const endedQuery = (code: string) =>
  infiniteQueryOptions({
    queryKey: ['alerts.list', { params: { code }, query: { state: 'ended' } }, 'pages'] as const,
    queryFn: ({ pageParam, signal }) =>
      callApi('alerts.list', { params: { code }, query: { state: 'ended', ...cursorQuery(pageParam) } }, signal),
    ...paging,
  })

/** Deliveries, the newest first. */
export const deliveriesQuery = (code: string) =>
  infiniteQueryOptions({
    queryKey: ['alerts.listDeliveries', { params: { code } }, 'pages'] as const,
    queryFn: ({ pageParam, signal }) =>
      callApi('alerts.listDeliveries', { params: { code }, query: cursorQuery(pageParam) }, signal),
    ...paging,
  })

/** The active mutes. */
export const mutesQuery = (code: string) =>
  q('alerts.listMutes', { params: { code } }, { refetchInterval: alertsPollMs })
