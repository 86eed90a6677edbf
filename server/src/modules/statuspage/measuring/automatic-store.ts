// Reads tables of other modules: alert_events, squid_tags. Joins alerts with the tags of pages.

import type { StatusAlertKind } from '@shoal/contract'
import { sql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { statusIncidents } from '../tables.ts'

type PageAlert = {
  id: number
  orgId: number
  kind: StatusAlertKind
  startedAtMs: number
  tags: { squid: string; tag: string }[]
}

/** Lists the open alerts that should open an incident and have not opened one. */
export async function listAlertsOfPages(db: Db): Promise<PageAlert[]> {
  const { rows } = await db.execute<PageAlert>(sql`
    select e.id, e.org_id as "orgId", e.kind, (extract(epoch from e.started_at) * 1000)::float8 as "startedAtMs",
      json_agg(json_build_object('squid', t.squid_name, 'tag', t.tag) order by t.position) as tags
    from alert_events e
    join status_pages p on p.org_id = e.org_id and p.is_enabled and p.alert_kinds ? e.kind
    join squid_tags g on g.squid_id = e.squid_id
    join status_tags t on t.org_id = e.org_id and t.squid_name = g.squid_name and t.tag = g.tag
    where e.ended_at is null and not e.is_muted
      and not exists (select from status_incidents i where i.alert_id = e.id)
    group by e.id`)
  return rows
}

/** Lists unresolved incidents that follow an alert which has ended or no longer exists. */
export async function listIncidentsOfEndedAlerts(db: Db): Promise<{ id: string }[]> {
  const { rows } = await db.execute<{ id: string }>(sql`
    select i.id from status_incidents i
    where i.resolved_at is null and i.alert_id is not null and i.follows_alert
      and not exists (select from alert_events e where e.id = i.alert_id and e.ended_at is null)`)
  return rows
}

/** Inserts the incident of an alert. Returns its id; null if the alert already has an incident. */
export async function insertAutomaticIncident(
  db: Db,
  incident: typeof statusIncidents.$inferInsert,
): Promise<string | null> {
  const [row] = await db.insert(statusIncidents).values(incident).onConflictDoNothing().returning()
  return row?.id ?? null
}
