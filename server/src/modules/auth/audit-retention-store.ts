import { sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { deleteInBatches } from '../../db/delete-in-batches.ts'
import { auditLog } from './tables.ts'

/** Deletes rows of the audit log from before `at`: the only change that its trigger allows, and only with this setting. */
export async function deleteAuditBefore(db: Db, at: Date): Promise<number> {
  const prepare = sql`set local shoal.audit_retention = on`
  return await deleteInBatches(db, auditLog, sql`at < ${at.toISOString()}`, { prepare })
}
