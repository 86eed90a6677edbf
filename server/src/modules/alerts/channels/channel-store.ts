import { and, asc, count, eq, sql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { alertChannels } from '../tables.ts'

export type ChannelRow = typeof alertChannels.$inferSelect

/** Adds the email channel of an organization, if it does not exist yet. */
export async function ensureEmailChannel(db: Db, orgId: number, now: Date): Promise<void> {
  await db
    .insert(alertChannels)
    .values({ orgId, type: 'email', name: 'Email', createdAt: now })
    .onConflictDoNothing({ target: alertChannels.orgId, where: sql`${alertChannels.type} = 'email'` })
}

/** Returns the channels of an organization, oldest first. */
export async function listChannels(db: Db, orgId: number): Promise<ChannelRow[]> {
  return await db.select().from(alertChannels).where(eq(alertChannels.orgId, orgId)).orderBy(asc(alertChannels.id))
}

/** Returns a channel; null when the organization has no such channel. */
export async function selectChannel(db: Db, orgId: number, id: number): Promise<ChannelRow | null> {
  const [row] = await db
    .select()
    .from(alertChannels)
    .where(and(eq(alertChannels.orgId, orgId), eq(alertChannels.id, id)))
  return row ?? null
}

/**
 * Adds a channel; returns null when the organization already has `limit` channels. `seal` receives the id of the new row, because sealed
 * values are bound to it. The email channel must exist: its row is locked, so that concurrent calls cannot exceed the limit.
 */
export async function addChannel(
  db: Db,
  channel: Pick<ChannelRow, 'orgId' | 'type' | 'name' | 'createdAt'>,
  limit: number,
  seal: (id: number) => Pick<ChannelRow, 'sealedUrl' | 'sealedSigningSecret'>,
): Promise<ChannelRow | null> {
  return await db.transaction(async (tx) => {
    const inOrg = eq(alertChannels.orgId, channel.orgId)
    await tx
      .select({ id: alertChannels.id })
      .from(alertChannels)
      .where(and(inOrg, eq(alertChannels.type, 'email')))
      .for('no key update')
    const [total] = await tx.select({ channels: count() }).from(alertChannels).where(inOrg)
    if (!total || total.channels >= limit) return null
    const [added] = await tx.insert(alertChannels).values(channel).returning()
    if (!added) throw new Error('The channel was not inserted')
    const sealed = seal(added.id)
    await tx.update(alertChannels).set(sealed).where(eq(alertChannels.id, added.id))
    return { ...added, ...sealed }
  })
}

/** Changes a channel and returns it; null when the organization has no such channel. */
export async function changeChannel(
  db: Db,
  orgId: number,
  id: number,
  change: Pick<ChannelRow, 'name' | 'isEnabled'> & Partial<Pick<ChannelRow, 'sealedUrl'>>,
): Promise<ChannelRow | null> {
  const [row] = await db
    .update(alertChannels)
    .set(change)
    .where(and(eq(alertChannels.orgId, orgId), eq(alertChannels.id, id)))
    .returning()
  return row ?? null
}

/** Deletes the channel and its deliveries. */
export async function removeChannel(db: Db, orgId: number, id: number): Promise<void> {
  await db.delete(alertChannels).where(and(eq(alertChannels.orgId, orgId), eq(alertChannels.id, id)))
}

/**
 * Locks the channel until the transaction ends, so that concurrent transactions cannot claim or update its deliveries. Returns null if the
 * channel no longer exists.
 */
export async function lockChannel(tx: Db, id: number): Promise<ChannelRow | null> {
  const [row] = await tx.select().from(alertChannels).where(eq(alertChannels.id, id)).for('no key update')
  return row ?? null
}
