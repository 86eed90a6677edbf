// Reads tables of other modules: orgs, squids. An organization is settled once its versions are deleted.

import { sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'

/**
 * Deleted organizations that billing has not settled with, of which nothing is left to be metered: no version, no span that
 * is not on record, and the hour in which they were deleted is over.
 */
export async function listUnsettledDeletedOrgs(db: Db, recordedUntilMs: number): Promise<number[]> {
  const { rows } = await db.execute<{ id: number }>(sql`
    select o.id from orgs o
    where o.deleted_at is not null and o.settled_at is null and o.deleted_at < ${new Date(recordedUntilMs)}
      and not exists (select from squids s where s.org_id = o.id)
      and not exists (select from usage_spans u where u.org_id = o.id and u.to_ms > ${recordedUntilMs})
    order by 1`)
  return rows.map((row) => row.id)
}

/** Months on record without an invoice, the running one among them; oldest first. */
export async function listOpenMonths(db: Db, orgId: number): Promise<string[]> {
  const { rows } = await db.execute<{ month: string }>(sql`
    select distinct u.month from usage_records u
    where u.org_id = ${orgId}
      and not exists (select from invoices i where i.org_id = u.org_id and i.month = u.month)
    order by 1`)
  return rows.map((row) => row.month)
}
