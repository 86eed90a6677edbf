import { type Contract, statusPageLimits, type StatusIncident } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notFound, refuse } from '../../errors.ts'
import type { Handlers, Request } from '../call.ts'
import { parseId, isUuid } from '../parse-id.ts'
import {
  changeIncident,
  changeUpdateText,
  insertIncident,
  insertUpdate,
  listIncidents,
  removeIncident,
  countIncidents,
  lockIncident,
  type IncidentWithUpdates,
} from './incident-store.ts'
import { publicPagesOf } from './public/public-pages.ts'
import { readSettings, saveSettings } from './settings.ts'
import type { Db } from '../../db/database.ts'

export function statusPageHandlers(app: App): Handlers<Contract['statusPage']> {
  const { db } = app
  const present = async (orgId: number, id: string) => presentIncident(await getIncident(db, orgId, id))
  /** Waits for the commit: a visitor's request before the commit would cache the old page again. */
  const refreshPages = ({ afterCommit }: Pick<Request, 'afterCommit'>) =>
    afterCommit(() => publicPagesOf(app).evictAll())
  return {
    get: ({ org }) => readSettings(app, org),
    update: async ({ org, body, request }) => {
      const { url: _, previewUrl: __, ...before } = await readSettings(app, org)
      await saveSettings(app, org, body)
      refreshPages(request)
      request.audit({ subject: body.slug, before, after: body })
      return await readSettings(app, org)
    },
    listIncidents: async ({ org }) => (await listIncidents(db, org.id)).map(presentIncident),
    createIncident: async ({ org, body, request }) => {
      const { state, text, ...incident } = body
      const at = app.clock.now()
      await checkIncidentLimit(db, org.id)
      const resolvedAt = state === 'RESOLVED' ? at : null
      const { id } = await insertIncident(db, { ...incident, orgId: org.id, startedAt: at, resolvedAt })
      await insertUpdate(db, { incidentId: id, at, state, text })
      request.audit({ subject: body.title, after: body })
      refreshPages(request)
      return await present(org.id, id)
    },
    changeIncident: async ({ org, params, body, request }) => {
      const { id, title, impact, tags } = await getIncident(db, org.id, params.incidentId)
      await changeIncident(db, id, { ...body, editedAt: app.clock.now() })
      request.audit({ subject: body.title, before: { title, impact, tags }, after: body })
      refreshPages(request)
      return await present(org.id, id)
    },
    addUpdate: async ({ org, params, body, request }) => {
      const incident = await getIncident(db, org.id, params.incidentId)
      checkUpdateLimit(incident)
      const at = app.clock.now()
      await insertUpdate(db, { incidentId: incident.id, at, ...body })
      await changeIncident(db, incident.id, {
        resolvedAt: body.state === 'RESOLVED' ? (incident.resolvedAt ?? at) : null,
        ...(incident.resolvedAt && body.state !== 'RESOLVED' && { followsAlert: false }),
      })
      request.audit({ subject: incident.title, after: body })
      refreshPages(request)
      return await present(org.id, incident.id)
    },
    changeUpdate: async ({ org, params, body, request }) => {
      const incident = await getIncident(db, org.id, params.incidentId)
      const updateId = parseId(params.updateId, 'Update')
      const before = incident.updates.find(({ id }) => id === updateId)
      if (!before || !(await changeUpdateText(db, incident.id, updateId, body.text))) throw notFound('Update')
      await changeIncident(db, incident.id, { editedAt: app.clock.now() })
      request.audit({ subject: incident.title, before: { text: before.text }, after: body })
      refreshPages(request)
      return await present(org.id, incident.id)
    },
    removeIncident: async ({ org, params, request }) => {
      const incident = await getIncident(db, org.id, params.incidentId)
      await removeIncident(db, incident, app.clock.now())
      refreshPages(request)
      request.audit({ subject: incident.title, before: { title: incident.title, impact: incident.impact } })
      return null
    },
  }
}

const presentIncident = (row: IncidentWithUpdates): StatusIncident => ({
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
async function getIncident(db: Db, orgId: number, id: string): Promise<IncidentWithUpdates> {
  const incident = isUuid(id) ? await lockIncident(db, orgId, id) : null
  if (!incident) throw notFound('Incident')
  return incident
}

/** @throws Refusal 405 if the organization already has the maximum number of incidents */
async function checkIncidentLimit(db: Db, orgId: number): Promise<void> {
  if ((await countIncidents(db, orgId)) >= statusPageLimits.incidents)
    throw refuse('TOO_MANY', `An organization may have ${statusPageLimits.incidents} incidents. Remove old ones first.`)
}

/** @throws Refusal 405 if the incident already has the maximum number of updates */
function checkUpdateLimit({ updates }: IncidentWithUpdates): void {
  if (updates.length >= statusPageLimits.updatesPerIncident)
    throw refuse('TOO_MANY', `An incident may have ${statusPageLimits.updatesPerIncident} updates.`)
}
