import { q } from '../../../api/query.ts'

/** The settings of the status page. */
export const statusPageQuery = (code: string) => q('statusPage.get', { params: { code } })

/** The incidents, open ones first. They are polled, because alerts open incidents, too. */
export const incidentsQuery = (code: string) =>
  q('statusPage.listIncidents', { params: { code } }, { refetchInterval: 15_000 })
