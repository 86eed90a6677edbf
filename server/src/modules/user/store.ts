// Writes tables of other modules: api_tokens, users. The account that signs in and the profile that its user edits are one row; users manage their API tokens.

import { and, desc, eq, inArray, lt } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { apiTokens, users } from '../auth/index.ts'

export type UserRow = typeof users.$inferSelect

/** The account with this confirmed email. */
export async function findUserByEmail(db: Db, email: string): Promise<UserRow | null> {
  const [row] = await db
    .select()
    .from(users)
    .where(and(eq(users.email, email), eq(users.emailVerified, true)))
  return row ?? null
}

export async function getUser(db: Db, id: number): Promise<UserRow> {
  const [row] = await db.select().from(users).where(eq(users.id, id))
  if (!row) throw new Error(`User ${id} does not exist`)
  return row
}

/** Null when an account with this confirmed email exists. */
export async function addUser(db: Db, user: typeof users.$inferInsert): Promise<UserRow | null> {
  const [row] = await db.insert(users).values(user).onConflictDoNothing().returning()
  return row ?? null
}

export async function changeUser(db: Db, id: number, change: Partial<typeof users.$inferInsert>): Promise<UserRow> {
  const [row] = await db.update(users).set(change).where(eq(users.id, id)).returning()
  if (!row) throw new Error(`User ${id} does not exist`)
  return row
}

export function listApiTokens(db: Db, userId: number) {
  return db.select().from(apiTokens).where(eq(apiTokens.userId, userId)).orderBy(desc(apiTokens.id)).limit(1000)
}

/** Null when the user has a token of this name. */
export async function addApiToken(db: Db, token: typeof apiTokens.$inferInsert) {
  const [row] = await db.insert(apiTokens).values(token).onConflictDoNothing().returning()
  return row ?? null
}

/** Null when the user has no such token. */
export async function deleteApiToken(db: Db, userId: number, id: number) {
  const [row] = await db
    .delete(apiTokens)
    .where(and(eq(apiTokens.userId, userId), eq(apiTokens.id, id)))
    .returning()
  return row ?? null
}

/** Locks unconfirmed accounts, so that they cannot be confirmed until the transaction ends. */
export async function lockUnconfirmedBefore(db: Db, before: Date, limit: number): Promise<number[]> {
  const rows = await db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.emailVerified, false), lt(users.createdAt, before)))
    .orderBy(users.id)
    .limit(limit)
    .for('update')
  return rows.map((row) => row.id)
}

export async function deleteUsers(db: Db, ids: number[]): Promise<void> {
  await db.delete(users).where(inArray(users.id, ids))
}
