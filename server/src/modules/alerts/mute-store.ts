import { and, asc, eq, gt } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { alertMutes } from './tables.ts'

export type MuteRow = typeof alertMutes.$inferSelect

/** Mutes in force; the next to end first. */
export async function listMutes(db: Db, orgId: number, now: Date): Promise<MuteRow[]> {
  return await db
    .select()
    .from(alertMutes)
    .where(and(eq(alertMutes.orgId, orgId), gt(alertMutes.until, now)))
    .orderBy(asc(alertMutes.until), asc(alertMutes.id))
}

/** Mutes in force of all organizations. */
export async function listAllMutes(db: Db, now: Date): Promise<MuteRow[]> {
  return await db.select().from(alertMutes).where(gt(alertMutes.until, now))
}

export async function addMute(db: Db, mute: typeof alertMutes.$inferInsert): Promise<MuteRow> {
  const [row] = await db.insert(alertMutes).values(mute).returning()
  if (!row) throw new Error('The mute was not written')
  return row
}

/** Null when the organization has no such mute. */
export async function removeMute(db: Db, orgId: number, id: number): Promise<MuteRow | null> {
  const [row] = await db
    .delete(alertMutes)
    .where(and(eq(alertMutes.orgId, orgId), eq(alertMutes.id, id)))
    .returning()
  return row ?? null
}
