import { exampleCertificate } from '../../../../server/src/modules/certificates/testing/example-certificate.ts'

/**
 * SQL statements that insert five domains for each organization: three are active and have certificates, the others wait for their DNS
 * records and have a challenge of the ACME authority. In some organizations, a check of one domain and an order of one certificate are
 * due, and one active domain belongs to a deleted squid.
 */
export const domains = [
  `insert into squid_domains (org_id, name, squid_name, tag, proof, is_active, proven_at, checked_at, next_check_at, created_at)
   select org_id, 'api-' || n || '.org-' || org_id || '.example.com', case when n = 3 and org_id % 50 = 2 then 'deleted' else squid_name end, 'prod',
     'proof', n <= 3, case when n <= 3 then now() end, now(),
     now() + case when n = 5 and org_id % 50 = 2 then interval '0' else interval '1 day' end, now() - interval '1 hour'
   from (select org_id, min(squid_name) as squid_name from squid_tags group by org_id) t, generate_series(1, 5) n`,
  // Shoal parses a certificate, to revoke it, when its domain is removed. The chain is repeated to have a realistic size.
  `insert into certificates (name, is_own, chain, sealed_key, not_before, not_after, next_order_at)
   select name, false, repeat('${exampleCertificate}', 8), 'key', now() - interval '30 days', now() + interval '60 days',
     now() + case when name like 'api-1.%' and org_id % 50 = 2 then interval '0' else interval '30 days' end
   from squid_domains where is_active`,
  `insert into acme_challenges (token, name, type, key_authorization, created_at)
   select 'token-' || replace(name, '.', '-'), name, 'http-01', 'authorization', now() from squid_domains where not is_active`,
]
