// Reads tables of other modules: orgs, squids. Deleted organizations are settled once their versions are deleted.

import type { Receipt } from '@shoal/contract'
import { and, desc, eq, sql, type SQL } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { invoices, type InvoiceCustomer } from '../tables.ts'

/** Returns the invoice of a month (`yyyy-MM`); null if the month is not closed. */
export async function selectInvoice(db: Db, orgId: number, month: string) {
  const [row] = await db
    .select()
    .from(invoices)
    .where(and(eq(invoices.orgId, orgId), eq(invoices.month, month)))
  return row ?? null
}

/** Returns the invoices of an organization, newest month first. */
export function listInvoices(db: Db, orgId: number) {
  return db.select().from(invoices).where(eq(invoices.orgId, orgId)).orderBy(desc(invoices.month))
}

/**
 * Returns the months before `month` with usage and without an invoice; oldest first. Reads only the months after each
 * organization's last invoice, because `addRecords` never adds late usage to a closed month.
 */
export async function listClosable(db: Db, month: string): Promise<{ orgId: number; month: string }[]> {
  const { rows } = await db.execute<{ orgId: number; month: string }>(sql`
    select o.id as "orgId", u.month from orgs o
    cross join lateral (select coalesce(max(i.month), '') as month from invoices i where i.org_id = o.id) closed
    cross join lateral (${monthsAfter(sql`o.id`, sql`closed.month`)}) u
    where not o.is_playground and u.month < ${month} order by 2, 1`)
  return rows
}

/** Returns all months with usage as `yyyy-MM`; oldest first. */
export async function monthsOf(db: Db, orgId: number): Promise<string[]> {
  const { rows } = await db.execute<{ month: string }>(monthsAfter(sql`${orgId}::bigint`, sql`''`))
  return rows.map((row) => row.month)
}

/** Selects the months with usage after `month`. Reads one row per month; DISTINCT would read a row for each resource and hour. */
const monthsAfter = (orgId: SQL, month: SQL): SQL => sql`
  with recursive months as (
    select min(u.month) as month from usage_records u where u.org_id = ${orgId} and u.month > ${month}
    union all
    select (select min(u.month) from usage_records u where u.org_id = ${orgId} and u.month > months.month)
    from months where months.month is not null
  ) select months.month from months where months.month is not null`

/** Adds an invoice with the next number, unless the month has one. Numbers have no gaps, because they are assigned under a lock. */
export async function addInvoice(
  db: Db,
  invoice: {
    orgId: number
    month: string
    closedAt: Date
    customer: InvoiceCustomer
    seller: string[]
    totalUsd: string
  },
  receiptOf: (number: number) => Receipt,
): Promise<void> {
  await db.execute(sql`select pg_advisory_xact_lock(hashtextextended('shoal:invoices', 0))`)
  if (await selectInvoice(db, invoice.orgId, invoice.month)) return
  const [last] = await db.select({ number: sql<number>`coalesce(max(${invoices.number}), 0)::int` }).from(invoices)
  const number = (last?.number ?? 0) + 1
  await db.insert(invoices).values({ ...invoice, number, receipt: receiptOf(number) })
}

/**
 * Returns the ids of deleted organizations that are not settled and have no usage left to record: they have no version and no
 * unrecorded span, and the usage of the hour of their deletion is recorded.
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

/** Returns the months with usage and without an invoice, including the current month; oldest first. */
export async function listOpenMonths(db: Db, orgId: number): Promise<string[]> {
  const { rows } = await db.execute<{ month: string }>(sql`
    select u.month from (${monthsAfter(sql`${orgId}::bigint`, sql`''`)}) u
    where not exists (select from invoices i where i.org_id = ${orgId} and i.month = u.month) order by 1`)
  return rows.map((row) => row.month)
}
