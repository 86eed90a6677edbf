// Reads tables of other modules: retired_secrets, rpc_tokens, secrets, squids. One query shows whether any hidden value changed.

import { sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'

/** `stamp` changes whenever a value changes that must be redacted in the version's output. */
export type RedactionStamp = { squidId: number; orgId: number; stamp: string }

/** The stamps of the versions that exist; deleted ones are omitted. */
export async function selectHiddenStamps(db: Db, squidIds: number[]): Promise<RedactionStamp[]> {
  // Every write of a row changes its xmin, even two writes within the same millisecond.
  const { rows } = await db.execute<RedactionStamp>(sql`
    with asked as (select id, org_id from squids where id = any(${sql.param(squidIds)}::bigint[])),
    org_stamps as (
      select o.org_id, concat(
        (select string_agg(s.xmin::text, ',' order by s.name) from secrets s where s.org_id = o.org_id), '/',
        (select string_agg(r.id || '.' || r.xmin, ',' order by r.id) from retired_secrets r where r.org_id = o.org_id), '/',
        (select t.xmin::text from rpc_tokens t where t.org_id = o.org_id)) as stamp
      from (select distinct org_id from asked) o)
    select asked.id as "squidId", asked.org_id as "orgId", concat(org_stamps.stamp, '/', md5(d.sealed_password)) as stamp
    from asked join org_stamps on org_stamps.org_id = asked.org_id left join squid_databases d on d.squid_id = asked.id`)
  return rows
}
