import { statusPageLimits, type StatusIncident } from '@shoal/contract'
import type { Db } from '../../db/database.ts'
import { notFound, refuse } from '../../errors.ts'
import { isUuid } from '../parse-id.ts'
import { countIncidents, lockIncident, type IncidentWithUpdates } from './incident-store.ts'

export const presentIncident = (row: IncidentWithUpdates): StatusIncident => ({
  id: row.id,
  title: row.title,
  impact: row.impact,
  tags: row.tags,
  isAutomatic: row.alertId !== null,
  startedAt: row.startedAt.toISOString(),
  resolvedAt: row.resolvedAt?.toISOString() ?? null,
  updates: row.updates.map(({ id, at, state, text }) => ({ id, at: at.toISOString(), state, text })),
})

/** Returns an incident of the organization, locked until the transaction ends. @throws Refusal 404 */
export async function getIncident(db: Db, orgId: number, id: string): Promise<IncidentWithUpdates> {
  const incident = isUuid(id) ? await lockIncident(db, orgId, id) : null
  if (!incident) throw notFound('Incident')
  return incident
}

/** @throws Refusal 405 if the organization already has the maximum number of incidents */
export async function checkIncidentLimit(db: Db, orgId: number): Promise<void> {
  if ((await countIncidents(db, orgId)) >= statusPageLimits.incidents)
    throw refuse('TOO_MANY', `An organization may have ${statusPageLimits.incidents} incidents. Remove old ones first.`)
}

/** @throws Refusal 405 if the incident already has the maximum number of updates */
export function checkUpdateLimit({ updates }: IncidentWithUpdates): void {
  if (updates.length >= statusPageLimits.updatesPerIncident)
    throw refuse('TOO_MANY', `An incident may have ${statusPageLimits.updatesPerIncident} updates.`)
}
