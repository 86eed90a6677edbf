import { statusAlertTexts } from '@shoal/contract'
import type { Db } from '../../../db/database.ts'
import { insertUpdate, resolveIncident } from '../incident-store.ts'
import { insertAutomaticIncident, listAlertsOfPages, listIncidentsOfEndedAlerts } from './automatic-store.ts'

const openedText = 'This incident was opened automatically.'
const resolvedText = 'The cause has ended. This incident was resolved automatically.'

/**
 * Opens an incident for each open alert whose kind the page publishes and whose version has a tag on the page. Resolves incidents
 * whose alert has ended. Muted alerts open no incidents. An alert opens no second incident after a member removed its first one.
 * The texts are fixed, because the reasons of alerts are private.
 */
export async function openAndResolveIncidents(db: Db, now: Date): Promise<void> {
  for (const alert of await listAlertsOfPages(db)) {
    const { title, impact } = statusAlertTexts[alert.kind]
    await db.transaction(async (tx) => {
      const id = await insertAutomaticIncident(tx, {
        orgId: alert.orgId,
        alertId: alert.id,
        title,
        impact,
        tags: alert.tags,
        startedAt: new Date(alert.startedAtMs),
      })
      if (id) await insertUpdate(tx, { incidentId: id, at: now, state: 'INVESTIGATING', text: openedText })
    })
  }
  for (const { id } of await listIncidentsOfEndedAlerts(db))
    await db.transaction(async (tx) => {
      if (!(await resolveIncident(tx, id, now))) return
      await insertUpdate(tx, { incidentId: id, at: now, state: 'RESOLVED', text: resolvedText })
    })
}
