import { and, asc, desc, eq, inArray, lt, max, sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { alertChannels, alertDeliveries } from '../tables.ts'

export type ChannelRow = typeof alertChannels.$inferSelect
export type DeliveryRow = typeof alertDeliveries.$inferSelect

/** The e-mail channel is there from the first look on. */
export async function ensureEmailChannel(db: Db, orgId: number, now: Date): Promise<void> {
  await db
    .insert(alertChannels)
    .values({ orgId, type: 'email', name: 'E-mail', createdAt: now })
    .onConflictDoNothing({ target: alertChannels.orgId, where: sql`${alertChannels.type} = 'email'` })
}

/** In the order they were added. */
export async function listChannels(db: Db, orgId: number): Promise<ChannelRow[]> {
  return await db.select().from(alertChannels).where(eq(alertChannels.orgId, orgId)).orderBy(asc(alertChannels.id))
}

export async function selectChannel(db: Db, orgId: number, id: number): Promise<ChannelRow | null> {
  const [row] = await db
    .select()
    .from(alertChannels)
    .where(and(eq(alertChannels.orgId, orgId), eq(alertChannels.id, id)))
  return row ?? null
}

/** `seal` is given the id of the new row: what is sealed is sealed for it. */
export async function addChannel(
  db: Db,
  channel: Pick<ChannelRow, 'orgId' | 'type' | 'name' | 'createdAt'>,
  seal: (id: number) => Pick<ChannelRow, 'sealedUrl' | 'sealedSigningSecret'>,
): Promise<ChannelRow> {
  return await db.transaction(async (tx) => {
    const [added] = await tx.insert(alertChannels).values(channel).returning()
    if (!added) throw new Error('The channel was not written')
    const sealed = seal(added.id)
    await tx.update(alertChannels).set(sealed).where(eq(alertChannels.id, added.id))
    return { ...added, ...sealed }
  })
}

export async function changeChannel(
  db: Db,
  orgId: number,
  id: number,
  change: Pick<ChannelRow, 'name' | 'isEnabled'>,
): Promise<ChannelRow | null> {
  const [row] = await db
    .update(alertChannels)
    .set(change)
    .where(and(eq(alertChannels.orgId, orgId), eq(alertChannels.id, id)))
    .returning()
  return row ?? null
}

export async function removeChannel(db: Db, orgId: number, id: number): Promise<void> {
  await db.delete(alertChannels).where(and(eq(alertChannels.orgId, orgId), eq(alertChannels.id, id)))
}

export async function addDeliveries(db: Db, rows: (typeof alertDeliveries.$inferInsert)[]): Promise<DeliveryRow[]> {
  return rows.length === 0 ? [] : await db.insert(alertDeliveries).values(rows).returning()
}

/** With the channel they went to, newest first. */
export async function listDeliveries(db: Db, orgId: number, of: { beforeId?: number | undefined; limit: number }) {
  return await db
    .select({ delivery: alertDeliveries, channel: alertChannels })
    .from(alertDeliveries)
    .innerJoin(alertChannels, eq(alertChannels.id, alertDeliveries.channelId))
    .where(and(eq(alertDeliveries.orgId, orgId), of.beforeId ? lt(alertDeliveries.id, of.beforeId) : undefined))
    .orderBy(desc(alertDeliveries.id))
    .limit(of.limit)
}

export async function selectDelivery(db: Db, orgId: number, id: number) {
  const [row] = await db
    .select({ delivery: alertDeliveries, channel: alertChannels })
    .from(alertDeliveries)
    .innerJoin(alertChannels, eq(alertChannels.id, alertDeliveries.channelId))
    .where(and(eq(alertDeliveries.orgId, orgId), eq(alertDeliveries.id, id)))
  return row ?? null
}

/** The newest of each channel of the organization. */
export async function lastDeliveries(db: Db, orgId: number): Promise<Map<number, DeliveryRow>> {
  const newest = db
    .select({ id: max(alertDeliveries.id) })
    .from(alertDeliveries)
    .where(eq(alertDeliveries.orgId, orgId))
    .groupBy(alertDeliveries.channelId)
  const rows = await db.select().from(alertDeliveries).where(inArray(alertDeliveries.id, newest))
  return new Map(rows.map((row) => [row.channelId, row]))
}
