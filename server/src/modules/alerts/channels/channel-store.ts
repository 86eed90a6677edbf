import { and, asc, count, eq, sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { alertChannels } from '../tables.ts'

export type ChannelRow = typeof alertChannels.$inferSelect

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

/**
 * Null when the organization has `most` already. `seal` is given the id of the new row: what is sealed is sealed for it.
 * The e-mail channel has to be there: who adds at the same time waits for its lock, so that both are counted.
 */
export async function addChannel(
  db: Db,
  channel: Pick<ChannelRow, 'orgId' | 'type' | 'name' | 'createdAt'>,
  most: number,
  seal: (id: number) => Pick<ChannelRow, 'sealedUrl' | 'sealedSigningSecret'>,
): Promise<ChannelRow | null> {
  return await db.transaction(async (tx) => {
    const ofOrg = eq(alertChannels.orgId, channel.orgId)
    await tx
      .select({ id: alertChannels.id })
      .from(alertChannels)
      .where(and(ofOrg, eq(alertChannels.type, 'email')))
      .for('no key update')
    const [counted] = await tx.select({ channels: count() }).from(alertChannels).where(ofOrg)
    if (!counted || counted.channels >= most) return null
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
  change: Pick<ChannelRow, 'name' | 'isEnabled'> & Partial<Pick<ChannelRow, 'sealedUrl'>>,
): Promise<ChannelRow | null> {
  const [row] = await db
    .update(alertChannels)
    .set(change)
    .where(and(eq(alertChannels.orgId, orgId), eq(alertChannels.id, id)))
    .returning()
  return row ?? null
}

/** With all that was sent to it. */
export async function removeChannel(db: Db, orgId: number, id: number): Promise<void> {
  await db.delete(alertChannels).where(and(eq(alertChannels.orgId, orgId), eq(alertChannels.id, id)))
}

/** Locks the channel until the transaction ends, so that no other worker takes its deliveries. Null if it is locked or deleted. */
export async function lockChannel(tx: Db, id: number): Promise<ChannelRow | null> {
  const [row] = await tx
    .select()
    .from(alertChannels)
    .where(eq(alertChannels.id, id))
    .for('no key update', { skipLocked: true })
  return row ?? null
}
