// Reads tables of other modules: orgs, quota_usage. Selects the quotas of all organizations in one query.

import { limits } from '@shoal/contract'
import { sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { monthOf } from '../../rpc/index.ts'

/** RPC requests of this month, of the organizations that have only so many: by a cap of their own, or as playgrounds. */
export async function listRpcUse(db: Db, now: Date): Promise<{ orgId: number; used: number; cap: number }[]> {
  const { rows } = await db.execute<{ orgId: number; used: number; cap: number }>(sql`
    select o.id as "orgId", q.used, c.cap
    from orgs o left join billing_accounts a on a.org_id = o.id
    cross join lateral (select least(case when o.is_playground then ${limits.playgroundRpcRequests}::bigint end,
      a.rpc_requests_cap) as cap) c
    join quota_usage q on q.org_id = o.id and q.quota = 'rpc' and q.month = ${monthOf(now)}::date
    where o.deleted_at is null and c.cap is not null`)
  return rows
}
