import { desc, eq, lt } from '../db/sql.ts'
import type { Db } from '../db/database.ts'
import { mails } from './tables.ts'

export type MailRow = typeof mails.$inferSelect

export async function addMail(db: Db, mail: typeof mails.$inferInsert): Promise<MailRow> {
  const [row] = await db.insert(mails).values(mail).returning()
  if (!row) throw new Error('No email was added')
  return row
}

export async function findMail(db: Db, id: number): Promise<MailRow | null> {
  const [row] = await db.select().from(mails).where(eq(mails.id, id))
  return row ?? null
}

/** Returns the newest emails, newest first. */
export function newestMails(db: Db, limit: number): Promise<MailRow[]> {
  return db.select().from(mails).orderBy(desc(mails.id)).limit(limit)
}

export async function deleteMail(db: Db, id: number): Promise<void> {
  await db.delete(mails).where(eq(mails.id, id))
}

export async function deleteMailsBefore(db: Db, before: Date): Promise<void> {
  await db.delete(mails).where(lt(mails.createdAt, before))
}
