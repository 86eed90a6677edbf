import type { AlertChannel, AlertEvent } from '@shoal/contract'
import { useQuery, type QueryClient } from '@tanstack/react-query'
import { useOrg } from './active-org.ts'
import { onlyIf, q } from './query.ts'
import { seed, withItem } from './seed.ts'

/** The poll interval of the alerts page. For the bell, which is on all pages, a minute is enough. */
export const alertsPollMs = 15_000
const bellPollMs = 60_000

/** Open alerts, the most severe first. `refetchInterval` is in milliseconds. */
export const openAlertsQuery = (code: string, refetchInterval = alertsPollMs) =>
  q('alerts.list', { params: { code }, query: { state: 'open' } }, { refetchInterval })

/** Open alerts of the active organization, polled once a minute. Undefined while loading. */
export function useBellAlerts(): AlertEvent[] | undefined {
  const { code } = useOrg()
  return useQuery(onlyIf(code !== '', { ...openAlertsQuery(code, bellPollMs), staleTime: bellPollMs })).data
}

/** Adds a new channel to the cached list, or replaces a changed one. */
export const seedChannel = (client: QueryClient, code: string, channel: AlertChannel): void =>
  seed(client, 'alerts.listChannels', { params: { code } }, (all) => withItem(all, channel, (other) => other.id))
