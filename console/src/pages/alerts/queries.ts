import type { AlertDelivery } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { alertsPollMs } from '../../api/alerts.ts'
import { qPages } from '../../api/pages.ts'
import { q } from '../../api/query.ts'
import { seedPages } from '../../api/seed.ts'

const polled = { refetchInterval: alertsPollMs }

/** Ended alerts, the newest first. */
export const endedQuery = (code: string) =>
  qPages('alerts.list', { params: { code }, query: { state: 'ended' } }, polled)

/** Deliveries, the newest first. */
export const deliveriesQuery = (code: string) => qPages('alerts.listDeliveries', { params: { code } }, polled)

/** The active mutes. */
export const mutesQuery = (code: string) => q('alerts.listMutes', { params: { code } }, polled)

/** Adds a new delivery to the cached list, unless a refetch has already returned it. */
export const seedDelivery = (client: QueryClient, code: string, delivery: AlertDelivery): void =>
  seedPages<AlertDelivery[]>(client, 'alerts.listDeliveries', { params: { code } }, (rows, page) =>
    page === 0 ? [delivery, ...rows.filter(({ id }) => id !== delivery.id)] : rows,
  )
