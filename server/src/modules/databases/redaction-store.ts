// Reads tables of other modules: retired_secrets, rpc_tokens, secrets, squids. One query detects changes of the values to redact.

import { inArray, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { squidDatabases, squidLogins } from './tables.ts'

/** `stamp`: changes whenever a value changes that must be redacted in the version's output. */
export type RedactionStamp = { squidId: number; orgId: number; stamp: string }

/** Returns the stamps of versions. Omits deleted versions. */
export async function selectRedactionStamps(db: Db, squidIds: number[]): Promise<RedactionStamp[]> {
  // Every write of a row changes its xmin, even if two writes have the same time. `org_stamps` is materialized, since otherwise
  // Postgres would read the secrets of an organization again for each of its versions.
  const { rows } = await db.execute<RedactionStamp>(sql`
    with requested as (select id, org_id from squids where id = any(${sql.param(squidIds)}::bigint[])),
    org_stamps as materialized (
      select o.org_id, concat(
        (select string_agg(s.xmin::text, ',' order by s.name) from secrets s where s.org_id = o.org_id), '/',
        (select string_agg(r.id || '.' || r.xmin, ',' order by r.id) from retired_secrets r where r.org_id = o.org_id), '/',
        (select t.xmin::text from rpc_tokens t where t.org_id = o.org_id)) as stamp
      from (select distinct org_id from requested) o)
    select requested.id as "squidId", requested.org_id as "orgId", concat(org_stamps.stamp, '/',
      (select md5(d.sealed_password) from squid_databases d where d.squid_id = requested.id), '/',
      (select string_agg(l.id || '.' || l.xmin, ',' order by l.id) from squid_logins l where l.squid_id = requested.id)) as stamp
    from requested join org_stamps on org_stamps.org_id = requested.org_id`)
  return rows
}

/** Returns the sealed passwords of versions with a database. `sealedReadPassword` is null if external access is not allowed. */
export async function selectSealedPasswords(
  db: Db,
  squidIds: number[],
): Promise<{ squidId: number; sealedPassword: string; sealedReadPassword: string | null }[]> {
  const { squidId, sealedPassword, sealedReadPassword, maxExternalConnections } = squidDatabases
  return await db
    .select({
      squidId,
      sealedPassword,
      sealedReadPassword: sql<
        string | null
      >`case when ${maxExternalConnections} = 0 then null else ${sealedReadPassword} end`,
    })
    .from(squidDatabases)
    .where(inArray(squidId, squidIds))
}

/** Returns the sealed passwords of the logins of single programs. */
export const selectSealedLoginPasswords = (
  db: Db,
  squidIds: number[],
): Promise<{ squidId: number; sealedPassword: string }[]> =>
  db
    .select({ squidId: squidLogins.squidId, sealedPassword: squidLogins.sealedPassword })
    .from(squidLogins)
    .where(inArray(squidLogins.squidId, squidIds))
