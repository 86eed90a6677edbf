import { sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { deleteInBatches } from '../../db/delete-in-batches.ts'
import { portalUsage } from './tables.ts'

export type PortalUsageRow = typeof portalUsage.$inferSelect

/** Adds the rows to the hourly usage counters, in one statement. */
export async function addPortalUsage(db: Db, rows: PortalUsageRow[]): Promise<void> {
  if (rows.length === 0) return
  await db
    .insert(portalUsage)
    .values(rows)
    .onConflictDoUpdate({
      target: [portalUsage.dataset, portalUsage.hour, portalUsage.version],
      set: {
        requests: sql`${portalUsage.requests} + excluded.requests`,
        bytes: sql`${portalUsage.bytes} + excluded.bytes`,
      },
    })
}

/** Deletes the counters of hours that started before `at`; returns the number of deleted rows. */
export async function deletePortalUsageBefore(db: Db, at: Date): Promise<number> {
  return await deleteInBatches(db, portalUsage, sql`hour < ${at.toISOString()}`)
}
