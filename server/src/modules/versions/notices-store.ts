import type { Db } from '../../db/database.ts'
import { squidNotices } from './tables.ts'

export type SquidNotice = Omit<typeof squidNotices.$inferInsert, 'id'>

/** Adds a message to the log of a version, as a warning. Deleted versions are not checked for: their notices violate a foreign key. */
export async function addNotice(db: Db, notice: SquidNotice): Promise<void> {
  await db.insert(squidNotices).values(notice)
}
