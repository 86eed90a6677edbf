// Reads tables of other modules: orgs. An unpaid invoice of an organization that no longer exists is never charged again.
import { sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { deleteInBatches } from '../../db/delete-in-batches.ts'
import { billingEvents, charges, testSetups, usageRecords } from './tables.ts'

/**
 * Deletes usage records of hours before `at` whose month has an invoice, which contains their sums. Returns the number of
 * records.
 */
export async function deleteUsageRecordsBefore(db: Db, at: Date): Promise<number> {
  const isInvoiced = sql`exists (
    select from invoices i where i.org_id = usage_records.org_id and i.month = usage_records.month)`
  return await deleteInBatches(db, usageRecords, sql`hour < ${at.toISOString()} and ${isInvoiced}`)
}

/**
 * Deletes charges before `at`, except those of invoices that may still be charged, and the ids of events that the payment provider
 * sent before `at`. Returns the number of deleted rows.
 */
export async function deletePaymentsBefore(db: Db, at: Date): Promise<number> {
  const mayBeCharged = sql`exists (
    select from invoices i join orgs o on o.id = i.org_id where i.number = charges.invoice and i.paid_at is null)`
  const ofCharges = await deleteInBatches(db, charges, sql`at < ${at.toISOString()} and not ${mayBeCharged}`)
  return ofCharges + (await deleteInBatches(db, billingEvents, sql`at < ${at.toISOString()}`))
}

/** Deletes card forms of the test provider that were opened before `at`, except those of cards that organizations still have. */
export async function deleteTestSetupsBefore(db: Db, at: Date): Promise<number> {
  const isInUse = sql`exists (select from payment_methods m where m.id = payment_method_id)`
  return await deleteInBatches(db, testSetups, sql`created_on < ${at.toISOString()}::date and not ${isInUse}`)
}
