import { and, asc, count, desc, eq, gt, inArray, lt, lte, min, ne, notInArray, sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { alertChannels, alertDeliveries, alertEvents } from '../tables.ts'

export type DeliveryRow = typeof alertDeliveries.$inferSelect

const isPending = eq(alertDeliveries.status, 'PENDING')
/** A message is not due while an earlier message about the same alert is pending on its channel. */
const isNextInAlert = sql`not exists (
  select from ${alertDeliveries} before
  where before.channel_id = ${alertDeliveries.channelId} and before.event_id = ${alertDeliveries.eventId}
    and before.status = 'PENDING' and before.id < ${alertDeliveries.id})`
/** Maximum number of pending deliveries read per channel. */
const maxWaiting = 2000

export async function addDeliveries(db: Db, rows: (typeof alertDeliveries.$inferInsert)[]): Promise<DeliveryRow[]> {
  return rows.length === 0 ? [] : await db.insert(alertDeliveries).values(rows).returning()
}

/** Deliveries with their channels and alerts, newest first. */
export async function listDeliveries(db: Db, orgId: number, of: { beforeId?: number | undefined; limit: number }) {
  return await db
    .select({ delivery: alertDeliveries, channel: alertChannels, event: alertEvents })
    .from(alertDeliveries)
    .innerJoin(alertChannels, eq(alertChannels.id, alertDeliveries.channelId))
    .leftJoin(alertEvents, eq(alertEvents.id, alertDeliveries.eventId))
    .where(and(eq(alertDeliveries.orgId, orgId), of.beforeId ? lt(alertDeliveries.id, of.beforeId) : undefined))
    .orderBy(desc(alertDeliveries.id))
    .limit(of.limit)
}

export async function selectDelivery(db: Db, orgId: number, id: number) {
  const [row] = await db
    .select({ delivery: alertDeliveries, channel: alertChannels, event: alertEvents })
    .from(alertDeliveries)
    .innerJoin(alertChannels, eq(alertChannels.id, alertDeliveries.channelId))
    .leftJoin(alertEvents, eq(alertEvents.id, alertDeliveries.eventId))
    .where(and(eq(alertDeliveries.orgId, orgId), eq(alertDeliveries.id, id)))
  return row ?? null
}

/** The newest delivery of a channel. */
export async function lastDelivery(db: Db, channelId: number): Promise<DeliveryRow | null> {
  const [row] = await db
    .select()
    .from(alertDeliveries)
    .where(eq(alertDeliveries.channelId, channelId))
    .orderBy(desc(alertDeliveries.id))
    .limit(1)
  return row ?? null
}

/** The channels that were notified of the opening, or will be. */
export async function channelsNotified(db: Db, eventId: number): Promise<number[]> {
  const rows = await db
    .selectDistinct({ channelId: alertDeliveries.channelId })
    .from(alertDeliveries)
    .where(
      and(
        eq(alertDeliveries.eventId, eventId),
        eq(alertDeliveries.what, 'OPENED'),
        ne(alertDeliveries.status, 'FAILED'),
      ),
    )
  return rows.map(({ channelId }) => channelId)
}

/** Channels with due deliveries; first the one whose delivery has been due longest. */
export async function listDueChannels(db: Db, now: Date, of: { except: number[]; limit: number }): Promise<number[]> {
  const rows = await db
    .select({ channelId: alertDeliveries.channelId })
    .from(alertDeliveries)
    .where(
      and(
        isPending,
        lte(alertDeliveries.nextTryAt, now),
        isNextInAlert,
        of.except.length > 0 ? notInArray(alertDeliveries.channelId, of.except) : undefined,
      ),
    )
    .groupBy(alertDeliveries.channelId)
    .orderBy(min(alertDeliveries.nextTryAt))
    .limit(of.limit)
  return rows.map(({ channelId }) => channelId)
}

/** Oldest first. */
export async function listPending(db: Db, channelId: number): Promise<DeliveryRow[]> {
  return await db
    .select()
    .from(alertDeliveries)
    .where(and(isPending, eq(alertDeliveries.channelId, channelId)))
    .orderBy(asc(alertDeliveries.id))
    .limit(maxWaiting)
}

export async function countDeliveriesSince(db: Db, channelId: number, since: Date): Promise<number> {
  const [row] = await db
    .select({ deliveries: count() })
    .from(alertDeliveries)
    .where(
      and(
        eq(alertDeliveries.channelId, channelId),
        gt(alertDeliveries.createdAt, since),
        ne(alertDeliveries.what, 'TEST'),
      ),
    )
  return row?.deliveries ?? 0
}

/** Records the start of an attempt. If no result is recorded, the deliveries may be claimed again from `until` on. */
export async function markTrying(db: Db, ids: number[], now: Date, until: Date): Promise<DeliveryRow[]> {
  return await db
    .update(alertDeliveries)
    .set({ tries: sql`${alertDeliveries.tries} + 1`, lastTriedAt: now, nextTryAt: until })
    .where(and(isPending, inArray(alertDeliveries.id, ids)))
    .returning()
}

/** Changes those of the deliveries that are still pending. */
export async function changePending(
  db: Db,
  ids: number[],
  change: Partial<Pick<DeliveryRow, 'status' | 'httpStatus' | 'error' | 'nextTryAt'>>,
): Promise<DeliveryRow[]> {
  return await db
    .update(alertDeliveries)
    .set(change)
    .where(and(isPending, inArray(alertDeliveries.id, ids)))
    .returning()
}

/** Marks all pending deliveries of the channel as failed. */
export async function failPending(db: Db, channelId: number, error: string): Promise<void> {
  await db
    .update(alertDeliveries)
    .set({ status: 'FAILED', error, nextTryAt: null })
    .where(and(isPending, eq(alertDeliveries.channelId, channelId)))
}

/** Marks the pending recovery notices of these events as failed, unless their opening may still be delivered. */
export async function failRecoveries(db: Db, channelId: number, eventIds: number[], error: string): Promise<void> {
  await db
    .update(alertDeliveries)
    .set({ status: 'FAILED', error, nextTryAt: null })
    .where(
      and(
        isPending,
        eq(alertDeliveries.channelId, channelId),
        eq(alertDeliveries.what, 'ENDED'),
        inArray(alertDeliveries.eventId, eventIds),
        sql`not exists (
          select from ${alertDeliveries} opening
          where opening.channel_id = ${alertDeliveries.channelId} and opening.event_id = ${alertDeliveries.eventId}
            and opening.what = 'OPENED' and opening.status <> 'FAILED')`,
      ),
    )
}

/** Deletes old deliveries, except those of open alerts, which determine the channels to notify of the end. */
export async function deleteDeliveriesBefore(db: Db, before: Date): Promise<void> {
  await db
    .delete(alertDeliveries)
    .where(
      and(
        lt(alertDeliveries.createdAt, before),
        sql`not exists (select from ${alertEvents} e where e.id = ${alertDeliveries.eventId} and e.ended_at is null)`,
      ),
    )
}
