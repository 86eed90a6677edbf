import type { Db } from '../../db/database.ts'
import { squidNotices } from './tables.ts'

export type SquidNotice = Omit<typeof squidNotices.$inferInsert, 'id'>

/** Adds a message to the log of a version, as a warning. @throws the database's foreign-key error if the version was deleted */
export async function addNotice(db: Db, notice: SquidNotice): Promise<void> {
  await db.insert(squidNotices).values(notice)
}
