import { and, desc, eq, isNotNull, isNull, lt, sql, type SQL } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { alertEvents } from './tables.ts'

export type EventRow = typeof alertEvents.$inferSelect

/** More are not shown at once: whoever has so many needs no list. */
const mostOpen = 500

/** The worst first, of these the newest. */
export async function listOpen(db: Db, orgId: number): Promise<EventRow[]> {
  return await db
    .select()
    .from(alertEvents)
    .where(and(eq(alertEvents.orgId, orgId), isNull(alertEvents.endedAt)))
    .orderBy(sql`${alertEvents.severity} = 'WARNING'`, desc(alertEvents.startedAt), desc(alertEvents.id))
    .limit(mostOpen)
}

export type HistoryPage = { beforeId?: number | undefined; isEnded: boolean; limit: number }

/** The newest first. */
export async function listHistory(db: Db, orgId: number, { beforeId, isEnded, limit }: HistoryPage) {
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
