import { and, eq, gt, lt, ne, sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { apiTokens, auditLog, sessions, signingKeys, users } from './tables.ts'

const actorColumns = {
  userId: users.id,
  email: users.email,
  fullName: users.fullName,
  emailVerified: users.emailVerified,
}

export async function addSession(db: Db, session: typeof sessions.$inferInsert): Promise<void> {
  await db.insert(sessions).values(session)
}

export async function findSession(db: Db, id: string) {
  const [row] = await db
    .select({ id: sessions.id, lastSeenAt: sessions.lastSeenAt, expiresAt: sessions.expiresAt, user: actorColumns })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(eq(sessions.id, id))
  return row ?? null
}

export async function touchSession(db: Db, id: string, at: Date): Promise<void> {
  await db.update(sessions).set({ lastSeenAt: at }).where(eq(sessions.id, id))
}

/** Unexpired sessions, most recently seen first. */
export function listSessions(db: Db, userId: number, now: Date) {
  return db
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, now)))
    .orderBy(sql`${sessions.lastSeenAt} desc`, sessions.id)
    .limit(200)
}

export async function endSession(db: Db, id: string): Promise<void> {
  await db.delete(sessions).where(eq(sessions.id, id))
}

/** Ends all sessions of a user, or all but one; returns their number. */
export async function endSessionsOf(db: Db, userId: number, except?: string): Promise<number> {
  const ended = await db
    .delete(sessions)
    .where(and(eq(sessions.userId, userId), except === undefined ? undefined : ne(sessions.id, except)))
    .returning({ id: sessions.id })
  return ended.length
}

export async function deleteExpiredSessions(db: Db, now: Date): Promise<void> {
  await db.delete(sessions).where(lt(sessions.expiresAt, now))
}

export async function findApiTokenByHash(db: Db, hash: string) {
  const [row] = await db
    .select({
      id: apiTokens.id,
      expiresAt: apiTokens.expiresAt,
      lastUsedAt: apiTokens.lastUsedAt,
      user: actorColumns,
    })
    .from(apiTokens)
    .innerJoin(users, eq(users.id, apiTokens.userId))
    .where(eq(apiTokens.hash, hash))
  return row ?? null
}

export async function touchApiToken(db: Db, id: number, at: Date): Promise<void> {
  await db.update(apiTokens).set({ lastUsedAt: at }).where(eq(apiTokens.id, id))
}

/** The stored key; stores the given one if there is none. */
export async function findOrAddSigningKey(db: Db, purpose: string, sealedKey: string): Promise<string> {
  await db.insert(signingKeys).values({ purpose, sealedKey }).onConflictDoNothing()
  const [row] = await db.select().from(signingKeys).where(eq(signingKeys.purpose, purpose))
  if (!row) throw new Error(`The signing key "${purpose}" is missing in the database`)
  return row.sealedKey
}

/** Appends a row to the audit log, which is append-only. */
export async function recordAudit(db: Db, row: typeof auditLog.$inferInsert): Promise<void> {
  await db.insert(auditLog).values(row)
}
