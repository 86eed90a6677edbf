import type { AlertEvent } from '@shoal/contract'
import { useQuery } from '@tanstack/react-query'
import { useOrg } from './active-org.ts'
import { q } from './query.ts'

/** The alerts page needs fresh data; elsewhere a minute is enough for the bell. */
export const alertsMs = 15_000
const bellMs = 60_000

/** What is wrong now, the worst first. */
export const openAlertsQuery = (code: string, refetchInterval = alertsMs) =>
  q('alerts.list', { params: { code }, query: { state: 'open' } }, { refetchInterval })

/** Of the active organization, once a minute. Undefined while they are not known. */
export function useBellAlerts(): AlertEvent[] | undefined {
  const { code } = useOrg()
  return useQuery({ ...openAlertsQuery(code, bellMs), staleTime: bellMs, enabled: code !== '' }).data
}
