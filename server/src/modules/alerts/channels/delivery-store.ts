import { and, asc, count, desc, eq, gt, inArray, isNull, lt, ne, sql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { alertChannels, alertDeliveries, alertEvents } from '../tables.ts'

export type DeliveryRow = typeof alertDeliveries.$inferSelect

const isPending = eq(alertDeliveries.status, 'PENDING')
/** Maximum number of pending deliveries read per channel. */
const maxPendingRead = 2000

/** Adds deliveries, and returns them with their ids. */
export async function addDeliveries(db: Db, rows: (typeof alertDeliveries.$inferInsert)[]): Promise<DeliveryRow[]> {
  return rows.length === 0 ? [] : await db.insert(alertDeliveries).values(rows).returning()
}

/** Returns deliveries with their channels and alerts, newest first. */
export async function listDeliveries(db: Db, orgId: number, page: { beforeId?: number | undefined; limit: number }) {
  return await db
    .select({ delivery: alertDeliveries, channel: alertChannels, event: alertEvents })
    .from(alertDeliveries)
    .innerJoin(alertChannels, eq(alertChannels.id, alertDeliveries.channelId))
    .leftJoin(alertEvents, eq(alertEvents.id, alertDeliveries.eventId))
    .where(and(eq(alertDeliveries.orgId, orgId), page.beforeId ? lt(alertDeliveries.id, page.beforeId) : undefined))
    .orderBy(desc(alertDeliveries.id))
    .limit(page.limit)
}

/** Returns a delivery with its channel and alert; null when the organization has no such delivery. */
export async function selectDelivery(db: Db, orgId: number, id: number) {
  const [row] = await db
    .select({ delivery: alertDeliveries, channel: alertChannels, event: alertEvents })
    .from(alertDeliveries)
    .innerJoin(alertChannels, eq(alertChannels.id, alertDeliveries.channelId))
    .leftJoin(alertEvents, eq(alertEvents.id, alertDeliveries.eventId))
    .where(and(eq(alertDeliveries.orgId, orgId), eq(alertDeliveries.id, id)))
  return row ?? null
}

/** Returns the newest delivery of a channel; null if there is none. */
export async function lastDelivery(db: Db, channelId: number): Promise<DeliveryRow | null> {
  const [row] = await db
    .select()
    .from(alertDeliveries)
    .where(eq(alertDeliveries.channelId, channelId))
    .orderBy(desc(alertDeliveries.id))
    .limit(1)
  return row ?? null
}

/** Returns the channels that were, or will be, notified that the alert opened. */
export async function listNotifiedChannelIds(db: Db, eventId: number): Promise<number[]> {
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

/** Returns pending deliveries of the channel, sorted by id: those of the job and, up to a limit, the oldest of the others. */
export async function listPending(db: Db, channelId: number, jobId: string): Promise<DeliveryRow[]> {
  const rows = await db
    .select()
    .from(alertDeliveries)
    .where(and(isPending, eq(alertDeliveries.channelId, channelId)))
    .orderBy(sql`(${alertDeliveries.jobId} = ${jobId}) desc nulls last`, asc(alertDeliveries.id))
    .limit(maxPendingRead)
  return rows.toSorted((a, b) => a.id - b.id)
}

/** Returns the oldest pending delivery of each alert to the channel, unless it has been attempted. */
export async function listNextOfEvents(db: Db, channelId: number, eventIds: number[]): Promise<DeliveryRow[]> {
  if (eventIds.length === 0) return []
  const rows = await db
    .select()
    .from(alertDeliveries)
    .where(and(isPending, eq(alertDeliveries.channelId, channelId), inArray(alertDeliveries.eventId, eventIds)))
    .orderBy(asc(alertDeliveries.id))
  const oldest = [...Map.groupBy(rows, ({ eventId }) => eventId).values()].flatMap(([first]) => first ?? [])
  return oldest.filter(({ tries }) => tries === 0)
}

/** Returns the number of deliveries to the channel since a time, without tests. */
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

type Attempt = { jobId: string; now: Date; until: Date }

/** Records the start of an attempt that is expected to end before `until`. Returns the updated deliveries, sorted by id. */
export async function recordAttempt(db: Db, ids: number[], { jobId, now, until }: Attempt): Promise<DeliveryRow[]> {
  if (ids.length === 0) return []
  const rows = await db
    .update(alertDeliveries)
    .set({ tries: sql`${alertDeliveries.tries} + 1`, lastTriedAt: now, nextTryAt: until, jobId })
    .where(and(isPending, inArray(alertDeliveries.id, ids)))
    .returning()
  return rows.toSorted((a, b) => a.id - b.id)
}

/** Assigns new job ids to up to 500 pending deliveries that have none. */
export async function assignJobs(db: Db): Promise<DeliveryRow[]> {
  return await db
    .update(alertDeliveries)
    .set({ jobId: sql`gen_random_uuid()` })
    .where(
      inArray(
        alertDeliveries.id,
        db
          .select({ id: alertDeliveries.id })
          .from(alertDeliveries)
          .where(and(isPending, isNull(alertDeliveries.jobId)))
          .orderBy(asc(alertDeliveries.id))
          .limit(500)
          .for('update'),
      ),
    )
    .returning()
}

/** Updates and returns the deliveries that are still pending and, if `expectedJobId` is given, still have that job. */
export async function changePending(
  db: Db,
  ids: number[],
  change: Partial<Pick<DeliveryRow, 'status' | 'httpStatus' | 'error' | 'nextTryAt' | 'jobId'>>,
  expectedJobId?: string,
): Promise<DeliveryRow[]> {
  const hasExpectedJob = expectedJobId === undefined ? undefined : eq(alertDeliveries.jobId, expectedJobId)
  return await db
    .update(alertDeliveries)
    .set(change)
    .where(and(isPending, inArray(alertDeliveries.id, ids), hasExpectedJob))
    .returning()
}

/** Marks all pending deliveries of the channel as failed. */
export async function failPending(db: Db, channelId: number, error: string): Promise<void> {
  await db
    .update(alertDeliveries)
    .set({ status: 'FAILED', error, nextTryAt: null })
    .where(and(isPending, eq(alertDeliveries.channelId, channelId)))
}

/** Fails the pending recovery messages of these alerts, unless another message about the opening was or may still be delivered. */
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

/**
 * Deletes the deliveries from before a time, except those of open alerts, which determine the channels that are
 * notified of the end.
 */
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
