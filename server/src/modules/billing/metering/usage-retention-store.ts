import { sql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { deleteInBatches } from '../../../db/delete-in-batches.ts'
import { usageRecords } from '../tables.ts'

/**
 * Deletes usage records of hours before `at` whose month has an invoice, which contains their sums. Returns the number of
 * records.
 */
export async function deleteUsageRecordsBefore(db: Db, at: Date): Promise<number> {
  const isInvoiced = sql`exists (
    select from invoices i where i.org_id = usage_records.org_id and i.month = usage_records.month)`
  return await deleteInBatches(db, usageRecords, sql`hour < ${at.toISOString()} and ${isInvoiced}`)
}
