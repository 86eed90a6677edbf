import { and, asc, eq, gt } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { alertMutes } from './tables.ts'

export type MuteRow = typeof alertMutes.$inferSelect

/** Returns the active mutes of an organization, by end time. */
export async function listMutes(db: Db, orgId: number, now: Date): Promise<MuteRow[]> {
  return await db
    .select()
    .from(alertMutes)
    .where(and(eq(alertMutes.orgId, orgId), gt(alertMutes.until, now)))
    .orderBy(asc(alertMutes.until), asc(alertMutes.id))
}

/** Returns the active mutes of all organizations. */
export async function listAllMutes(db: Db, now: Date): Promise<MuteRow[]> {
  return await db.select().from(alertMutes).where(gt(alertMutes.until, now))
}

/** Adds a mute, and returns it with its id. */
export async function addMute(db: Db, mute: typeof alertMutes.$inferInsert): Promise<MuteRow> {
  const [row] = await db.insert(alertMutes).values(mute).returning()
  if (!row) throw new Error('The mute was not inserted')
  return row
}

/** Returns the deleted mute, or null when the organization has no such mute. */
export async function deleteMute(db: Db, orgId: number, id: number): Promise<MuteRow | null> {
  const [row] = await db
    .delete(alertMutes)
    .where(and(eq(alertMutes.orgId, orgId), eq(alertMutes.id, id)))
    .returning()
  return row ?? null
}
