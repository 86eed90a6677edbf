import { alertsPollMs } from '../../api/alerts.ts'
import { qPages } from '../../api/pages.ts'
import { q } from '../../api/query.ts'

const polled = { refetchInterval: alertsPollMs }

/** Ended alerts, the newest first. */
export const endedQuery = (code: string) =>
  qPages('alerts.list', { params: { code }, query: { state: 'ended' } }, polled)

/** Deliveries, the newest first. */
export const deliveriesQuery = (code: string) => qPages('alerts.listDeliveries', { params: { code } }, polled)

/** The active mutes. */
export const mutesQuery = (code: string) => q('alerts.listMutes', { params: { code } }, polled)
