// Reads tables of other modules: orgs. Selects organizations by account status.

import { sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'

/** Organizations with unpaid invoices, also deleted ones: those to be charged now, and those whose time may be up. */
export async function listDue(db: Db, now: Date): Promise<{ orgId: number; isDue: boolean }[]> {
  const { rows } = await db.execute<{ orgId: number; isDue: boolean }>(sql`
    select o.id as "orgId", (a.failing_since is null or coalesce(a.next_retry_at <= ${now}, false)) as "isDue"
    from orgs o left join billing_accounts a on a.org_id = o.id
    where o.settled_at is null and exists (select from invoices i where i.org_id = o.id and i.paid_at is null)
      and (a.failing_since is null or a.next_retry_at <= ${now} or o.status = 'IN_DEBT')
    order by 1`)
  return rows
}
