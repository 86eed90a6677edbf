/** SQL expression of the names of a version's resources that are metered. */
export const meteredResources = `unnest(array['api', 'processor', 'db'])`

/** Statements that insert accounts, invoices, charges, payment methods, and the usage of all versions. */
export const billing = [
  `insert into billing_accounts (org_id, customer_id) select id, 'cus_test_' || id from orgs`,
  `insert into invoices (number, org_id, month, closed_at, receipt, customer, total_usd, paid_at)
   select row_number() over (), id, to_char(now() - n * interval '1 month', 'YYYY-MM'), now() - n * interval '1 month',
     json_build_object('month', to_char(now() - n * interval '1 month', 'YYYY-MM'), 'items', '[]'::json, 'subTotal', '10', 'discounts', '[]'::json,
       'tax', '{"percent": "0", "amount": "0"}'::json, 'total', '10', 'isClosed', true, 'invoice', null),
     '{"code": "org", "name": "Org", "details": null}', 10, now()
   from orgs, generate_series(1, 6) n`,
  `insert into charges (key, invoice, org_id, payment_method_id, amount_cents, status, provider_id, at)
   select 'charge-' || number, number, org_id, 'method-' || org_id, 1000, 'succeeded', 'provider-' || number, closed_at from invoices`,
  `insert into payment_methods (id, org_id, details, added_at) select 'method-' || id, id, '{"card": {"last4": "4242", "exp_month": 1, "exp_year": 2040}, "link": null}', now() from orgs`,
  `insert into usage_spans (org_id, squid_id, squid_name, resource, type, size, from_ms, to_ms)
   select org_id, id, name || '@' || slot, c, 'processor.small', 1, (extract(epoch from now()) * 1000)::bigint - 3600000 * n, (extract(epoch from now()) * 1000)::bigint - 3600000 * (n - 1)
   from squids, ${meteredResources} c, generate_series(1, 2) n`,
  `insert into usage_records (org_id, squid_id, squid_name, source, resource, type, hour, part, quantity, month, recorded_at)
   select org_id, id, name || '@' || slot, 'containers', id || '/processor', 'processor.small', hour, 0, 3600000, to_char(hour, 'YYYY-MM'), now()
   from squids, generate_series(1, 40) n, lateral (select date_trunc('hour', now()) - (n * 2 + n / 20 * 480) * interval '1 hour' as hour) h`,
  `insert into billing_events (id, at) select 'event-' || n, now() from generate_series(1, 5000) n`,
  `insert into billing_hibernations (squid_id, org_id, squid_name, reason, month, at) select id, org_id, name, 'debt', to_char(now(), 'YYYY-MM'), now() from squids where id % 500 = 7`,
  `insert into meter_state (id, observed_at_ms, recorded_until_ms)
   values (1, (extract(epoch from now()) * 1000)::bigint - 60000, (extract(epoch from date_trunc('hour', now())) * 1000)::bigint - 3600000)`,
]

/**
 * Statements that give a few organizations the states in which billing has work to do: a cap that is reached, another that is not,
 * a debt that is too old, a month to close, and deletions. The organization `lastOrgId` is deleted.
 */
export const billingStates = (lastOrgId: number): string[] => [
  `update billing_accounts set spend_cap_usd = 1000000 where org_id % 4 = 1`,
  `update billing_accounts set spend_cap_usd = 1, at_cap = 'hibernate' where org_id = 3`,
  `update invoices set paid_at = null where org_id = 4 and month = to_char(now() - interval '3 months', 'YYYY-MM')`,
  `update billing_accounts set failing_since = now() - interval '90 days', retries = 8, next_retry_at = null where org_id = 4`,
  `update orgs set status = 'IN_DEBT' where id = 4`,
  `delete from charges where org_id = 5 and invoice in (select number from invoices where month = to_char(now() - interval '1 month', 'YYYY-MM'))`,
  `delete from invoices where org_id = 5 and month = to_char(now() - interval '1 month', 'YYYY-MM')`,
  `update orgs set deleted_at = now() - interval '3 hours' where id = ${lastOrgId}`,
  // Two deleted organizations without versions: one has a month to close, the other is settled.
  `insert into orgs (code, name, status, squids_limit, created_at, deleted_at, settled_at)
   select code, code, 'ACTIVE', 100, now() - interval '200 days', now() - interval '3 hours', settled_at
   from (values ('unsettled', null), ('settled', now())) o (code, settled_at)`,
  `insert into usage_records (org_id, squid_id, squid_name, source, resource, type, hour, part, quantity, month, recorded_at)
   select id, 1000000000, 'deleted@v1', 'containers', 'deleted/processor', 'processor.small', date_trunc('hour', now()) - interval '1 day', 0, 3600000,
     to_char(now() - interval '1 day', 'YYYY-MM'), now() from orgs where code = 'unsettled'`,
]
