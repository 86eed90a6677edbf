/** SQL statements that insert a status page for each organization, with three tags, 90 days and twenty incidents. One organization in twenty has an alert that opens an incident. */
export const statusPages = [
  `insert into status_pages (org_id, is_enabled, title, slug, alert_kinds) select id, true, 'Status', 'status-' || id, '["STALLED"]' from orgs`,
  // Times in whole seconds and minutes, because the server adds their differences, in milliseconds, to integer columns.
  `insert into status_tags (org_id, squid_name, tag, name, position, added_at, measured_until, counted_until)
   select org_id, squid_name, tag, squid_name, n, now() - interval '90 days', date_trunc('second', now() - interval '15 seconds'),
     date_trunc('minute', now() - interval '5 minutes')
   from (select t.*, row_number() over (partition by org_id order by squid_name) as n from squid_tags t) t where n <= 3`,
  `insert into status_days (tag_id, day, requests, failures, up_ms) select id, current_date - n, 1000, 1, 86400000 from status_tags, generate_series(0, 90) n`,
  `insert into status_incidents (org_id, title, impact, tags, started_at, resolved_at, alert_id)
   select id, 'Incident ' || n, 'DEGRADED', '[]', now() - n * interval '1 day', case when n = 1 then null else now() - n * interval '1 day' end,
     case when n = 1 then 1000000000 + id end
   from orgs, generate_series(1, 20) n`,
  `insert into status_updates (incident_id, at, state, text) select id, started_at, 'INVESTIGATING', 'We look into it.' from status_incidents, generate_series(1, 3) n`,
  `insert into alert_events (org_id, kind, severity, squid_id, squid_name, squid_slot, container, label, reason, started_at)
   select t.org_id, 'STALLED', 'CRITICAL', s.id, s.name, s.slot, 'api', s.name || '@' || s.slot, 'It does not progress.', now()
   from status_tags t join squid_tags g using (org_id, squid_name, tag) join squids s on s.id = g.squid_id
   where t.position = 1 and t.org_id % 20 = 2`,
]
