// Reads tables of other modules: orgs. Selects organizations with payment problems.

import type { OrgStatus } from '@shoal/contract'
import { and, desc, eq, inArray, isNotNull, isNull, lt, sql, type SQL } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { deleteInBatches } from '../../db/delete-in-batches.ts'
import { orgs } from '../orgs/index.ts'
import { alertEvents, alertMutes } from './tables.ts'

export type EventRow = typeof alertEvents.$inferSelect

/** Returns the ids of the versions that the alerts are about, without duplicates. Some versions may have been deleted. */
export const squidIdsOf = (rows: readonly (EventRow | null)[]): number[] => [
  ...new Set(rows.flatMap((row) => row?.squidId ?? [])),
]

const maxListedAlerts = 500

/** Returns at most 500 open alerts of an organization: critical ones first, then by start, newest first. */
export async function listOpenAlerts(db: Db, orgId: number): Promise<EventRow[]> {
  return await db
    .select()
    .from(alertEvents)
    .where(and(eq(alertEvents.orgId, orgId), isNull(alertEvents.endedAt)))
    .orderBy(sql`${alertEvents.severity} = 'WARNING'`, desc(alertEvents.startedAt), desc(alertEvents.id))
    .limit(maxListedAlerts)
}

/** Returns the open alerts of all organizations. */
export async function listAllOpenAlerts(db: Db): Promise<EventRow[]> {
  return await db.select().from(alertEvents).where(isNull(alertEvents.endedAt))
}

/** Which alerts to list: those with ids below `beforeId`, at most `limit`, and with `isEnded` only those that have ended. */
export type HistoryPage = { beforeId?: number | undefined; isEnded: boolean; limit: number }

/** Returns alerts of an organization, newest first. */
export async function listAlertHistory(db: Db, orgId: number, { beforeId, isEnded, limit }: HistoryPage) {
  const conditions: SQL[] = [eq(alertEvents.orgId, orgId)]
  if (beforeId !== undefined) conditions.push(lt(alertEvents.id, beforeId))
  if (isEnded) conditions.push(isNotNull(alertEvents.endedAt))
  return await db
    .select()
    .from(alertEvents)
    .where(and(...conditions))
    .orderBy(desc(alertEvents.id))
    .limit(limit)
}

/** Inserts an alert. Returns null if an alert with the same cause is already open. */
export async function openEvent(db: Db, event: typeof alertEvents.$inferInsert): Promise<EventRow | null> {
  const [row] = await db.insert(alertEvents).values(event).onConflictDoNothing().returning()
  return row ?? null
}

type Change = Partial<Pick<EventRow, 'severity' | 'label' | 'reason' | 'endedAt' | 'isMuted'>>

/** Updates an open alert. Returns null if it has ended in the meantime. */
export async function changeOpenEvent(db: Db, id: number, change: Change): Promise<EventRow | null> {
  const [row] = await db
    .update(alertEvents)
    .set(change)
    .where(and(eq(alertEvents.id, id), isNull(alertEvents.endedAt)))
    .returning()
  return row ?? null
}

/** Returns the organizations with overdue or failed payments, and their account status. */
export async function listOrgsWithPaymentIssues(db: Db): Promise<{ orgId: number; status: OrgStatus }[]> {
  return await db
    .select({ orgId: orgs.id, status: orgs.status })
    .from(orgs)
    .where(and(isNull(orgs.deletedAt), inArray(orgs.status, ['PAYMENT_ISSUES', 'IN_DEBT', 'TERMINATED'])))
}

/**
 * Deletes alerts that ended before `at`, with their deliveries, and mutes that expired before `at`. Returns the number
 * of deleted rows.
 */
export async function deleteEndedAlertsBefore(db: Db, at: Date): Promise<number> {
  const events = await deleteInBatches(db, alertEvents, sql`ended_at < ${at.toISOString()}`)
  return events + (await deleteInBatches(db, alertMutes, sql`until < ${at.toISOString()}`))
}
