import { sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { deleteInBatches } from '../../db/delete-in-batches.ts'
import { auditLog } from './tables.ts'

/** Appends a row to the audit log. */
export async function recordAudit(db: Db, row: typeof auditLog.$inferInsert): Promise<void> {
  await db.insert(auditLog).values(row)
}

/**
 * Deletes rows of the audit log older than `at`, and returns their number. The table's trigger rejects all updates, and deletions
 * without the setting `shoal.audit_retention`.
 */
export async function deleteAuditBefore(db: Db, at: Date): Promise<number> {
  const prepare = sql`set local shoal.audit_retention = on`
  return await deleteInBatches(db, auditLog, sql`at < ${at.toISOString()}`, { prepare })
}
