/** A page for each organization, with three tags, 90 days and twenty incidents. */
export const statusPages = [
  `insert into status_pages (org_id, is_enabled, title, slug, alert_kinds) select id, true, 'Status', 'status-' || id, '["STALLED"]' from orgs`,
  `insert into status_tags (org_id, squid_name, tag, name, position, added_at, measured_until, counted_until)
   select org_id, squid_name, tag, squid_name, n, now() - interval '90 days', now() - interval '15 seconds', now() - interval '3 minutes'
   from (select t.*, row_number() over (partition by org_id order by squid_name) as n from squid_tags t) t where n <= 3`,
  `insert into status_days (tag_id, day, requests, failures, up_ms) select id, current_date - n, 1000, 1, 86400000 from status_tags, generate_series(0, 90) n`,
  `insert into status_incidents (org_id, title, impact, tags, started_at, resolved_at, alert_id)
   select id, 'Incident ' || n, 'DEGRADED', '[]', now() - n * interval '1 day', case when n = 1 then null else now() - n * interval '1 day' end,
     case when n = 1 then 1000000000 + id end
   from orgs, generate_series(1, 20) n`,
  `insert into status_updates (incident_id, at, state, text) select id, started_at, 'INVESTIGATING', 'We look into it.' from status_incidents, generate_series(1, 3) n`,
]
