import type { AlertChannel, AlertEvent } from '@shoal/contract'
import { useQuery, type QueryClient } from '@tanstack/react-query'
import { useOrg } from './active-org.ts'
import { q } from './query.ts'
import { seed, withItem } from './seed.ts'

/** Poll interval of the alerts page. For the bell on all other pages, a minute is enough. */
export const alertsPollMs = 15_000
const bellMs = 60_000

/** Open alerts, the most severe first. */
export const openAlertsQuery = (code: string, refetchInterval = alertsPollMs) =>
  q('alerts.list', { params: { code }, query: { state: 'open' } }, { refetchInterval })

/** Open alerts of the active organization, polled once a minute. Undefined while loading. */
export function useBellAlerts(): AlertEvent[] | undefined {
  const { code } = useOrg()
  return useQuery({ ...openAlertsQuery(code, bellMs), staleTime: bellMs, enabled: code !== '' }).data
}

/** Shows an added or changed channel in the list. */
export const seedChannel = (client: QueryClient, code: string, channel: AlertChannel): void =>
  seed(client, 'alerts.listChannels', { params: { code } }, (all) => withItem(all, channel, (other) => other.id))
