import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import type { Handlers, Request } from '../call.ts'
import { parseId } from '../parse-id.ts'
import {
  changeIncident,
  changeUpdateText,
  insertIncident,
  insertUpdate,
  listIncidents,
  removeIncident,
} from './incident-store.ts'
import { getIncident, presentIncident, checkIncidentLimit, checkUpdateLimit } from './incidents.ts'
import { publicPagesOf } from './public/public-pages.ts'
import { readSettings, saveSettings } from './settings.ts'

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
