import { desc, eq, lt } from 'drizzle-orm'
import type { Db } from '../db/database.ts'
import { mails } from './tables.ts'

export type MailRow = typeof mails.$inferSelect

export async function addMail(db: Db, mail: MailRow): Promise<void> {
  await db.insert(mails).values(mail)
}

export async function findMail(db: Db, id: string): Promise<MailRow | null> {
  const [row] = await db.select().from(mails).where(eq(mails.id, id))
  return row ?? null
}

/** Newest first. */
export function newestMails(db: Db, limit: number): Promise<MailRow[]> {
  return db.select().from(mails).orderBy(desc(mails.createdAt), desc(mails.id)).limit(limit)
}

export async function deleteMail(db: Db, id: string): Promise<void> {
  await db.delete(mails).where(eq(mails.id, id))
}

export async function deleteMailsBefore(db: Db, before: Date): Promise<void> {
  await db.delete(mails).where(lt(mails.createdAt, before))
}
