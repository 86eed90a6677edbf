import type { StatusIncident } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { q } from '../../../api/query.ts'
import { seed, withItem } from '../../../api/seed.ts'

/** The settings of the status page. */
export const statusPageQuery = (code: string) => q('statusPage.get', { params: { code } })

/** The incidents, open ones first. They are polled, because alerts open incidents, too. */
export const incidentsQuery = (code: string) =>
  q('statusPage.listIncidents', { params: { code } }, { refetchInterval: 15_000 })

/** Adds a new incident to the cached list, as the first one, or replaces a changed one. */
export const seedIncident = (client: QueryClient, code: string, incident: StatusIncident): void =>
  seed(client, 'statusPage.listIncidents', { params: { code } }, (all) =>
    all.some(({ id }) => id === incident.id) ? withItem(all, incident, ({ id }) => id) : [incident, ...all],
  )
