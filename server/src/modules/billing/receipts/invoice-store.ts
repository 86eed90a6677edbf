// Reads tables of other modules: orgs. An invoice names its customer.

import type { Receipt } from '@shoal/contract'
import { and, desc, eq, sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { invoices, usageRecords, type InvoiceCustomer } from '../tables.ts'

export async function selectInvoice(db: Db, orgId: number, month: string) {
  const [row] = await db
    .select()
    .from(invoices)
    .where(and(eq(invoices.orgId, orgId), eq(invoices.month, month)))
  return row ?? null
}

export function listInvoices(db: Db, orgId: number) {
  return db.select().from(invoices).where(eq(invoices.orgId, orgId)).orderBy(desc(invoices.month))
}

/** Months before `month` with usage and without an invoice, of organizations that are still there; oldest first. */
export async function listClosable(db: Db, month: string): Promise<{ orgId: number; month: string }[]> {
  const { rows } = await db.execute<{ orgId: number; month: string }>(sql`
    select distinct u.org_id as "orgId", u.month from usage_records u
    join orgs o on o.id = u.org_id and not o.is_playground
    left join invoices i on i.org_id = u.org_id and i.month = u.month
    where u.month < ${month} and i.number is null order by 2, 1`)
  return rows
}

/** `yyyy-MM` of all that is on record. */
export async function monthsOf(db: Db, orgId: number): Promise<string[]> {
  const rows = await db
    .selectDistinct({ month: usageRecords.month })
    .from(usageRecords)
    .where(eq(usageRecords.orgId, orgId))
  return rows.map((row) => row.month)
}

/** Takes the next number: without gaps, since an invoice that is not written takes none. */
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
