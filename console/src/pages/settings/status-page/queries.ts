import { q } from '../../../api/query.ts'

/** The settings of the status page. */
export const statusPageQuery = (code: string) => q('statusPage.get', { params: { code } })

/** Incidents, open ones first. Alerts open them, too. */
export const incidentsQuery = (code: string) =>
  q('statusPage.listIncidents', { params: { code } }, { refetchInterval: 15_000 })
