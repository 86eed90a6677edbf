import { and, desc, eq, gt, isNull, lt, ne, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'
import { displayPrefix, newApiTokenKey } from './api-token-key.ts'
import { apiTokens, sessions, signingKeys, users } from './tables.ts'

const actorColumns = {
  userId: users.id,
  email: users.email,
  fullName: users.fullName,
  emailVerified: users.emailVerified,
  isEmailProven: sql<boolean>`${users.emailProvenAt} is not null`,
  isOperator: users.isOperator,
}

export async function addSession(db: Db, session: typeof sessions.$inferInsert): Promise<void> {
  await db.insert(sessions).values(session)
}

/** Returns a session, even if it has expired; null if it does not exist or its account is disabled. */
export async function findSession(db: Db, id: string) {
  const [row] = await db
    .select({
      id: sessions.id,
      lastSeenAt: sessions.lastSeenAt,
      expiresAt: sessions.expiresAt,
      passwordAt: sessions.passwordAt,
      supportOrgId: sessions.supportOrgId,
      supportUntil: sessions.supportUntil,
      user: actorColumns,
    })
    .from(sessions)
    .innerJoin(users, eq(users.id, sessions.userId))
    .where(and(eq(sessions.id, id), isNull(users.disabledAt)))
  return row ?? null
}

/** Records when a session was last used. */
export async function touchSession(db: Db, id: string, at: Date): Promise<void> {
  await db.update(sessions).set({ lastSeenAt: at }).where(eq(sessions.id, id))
}

/** Records that the user has entered the password in this session. */
export async function savePasswordEntry(db: Db, id: string, at: Date): Promise<void> {
  await db.update(sessions).set({ passwordAt: at }).where(eq(sessions.id, id))
}

/** Records which organization the session may read as support, and until when; null ends it. */
export async function saveSupport(db: Db, id: string, support: { orgId: number; until: Date } | null): Promise<void> {
  const change = { supportOrgId: support?.orgId ?? null, supportUntil: support?.until ?? null }
  await db.update(sessions).set(change).where(eq(sessions.id, id))
}

/** Returns the unexpired sessions of a user, most recently seen first. */
export function selectSessions(db: Db, userId: number, now: Date) {
  return db
    .select()
    .from(sessions)
    .where(and(eq(sessions.userId, userId), gt(sessions.expiresAt, now)))
    .orderBy(sql`${sessions.lastSeenAt} desc`, sessions.id)
    .limit(200)
}

export async function deleteSession(db: Db, id: string): Promise<void> {
  await db.delete(sessions).where(eq(sessions.id, id))
}

/** Ends one session of a user. Returns it; null if this user has no such session. */
export async function endSessionOf(db: Db, userId: number, id: string) {
  const [ended] = await db
    .delete(sessions)
    .where(and(eq(sessions.id, id), eq(sessions.userId, userId)))
    .returning()
  return ended ?? null
}

/** Ends all sessions of a user except the one with the id `except`, and returns the number of ended sessions. */
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

/** Returns an API token, even if it has expired; null if it does not exist or its account is disabled. */
export async function findApiTokenByHash(db: Db, hash: string) {
  const [row] = await db
    .select({
      id: apiTokens.id,
      expiresAt: apiTokens.expiresAt,
      lastUsedAt: apiTokens.lastUsedAt,
      scope: apiTokens.scope,
      orgId: apiTokens.orgId,
      user: actorColumns,
    })
    .from(apiTokens)
    .innerJoin(users, eq(users.id, apiTokens.userId))
    .where(and(eq(apiTokens.hash, hash), isNull(users.disabledAt)))
  return row ?? null
}

type ApiTokenRow = typeof apiTokens.$inferSelect

/** Creates an API token with a new key, of which only the hash is stored. Returns null when the user already has a token with this name. */
export async function addApiToken(
  db: Db,
  token: Omit<typeof apiTokens.$inferInsert, 'prefix' | 'hash'>,
): Promise<(ApiTokenRow & { key: string }) | null> {
  const key = newApiTokenKey()
  const [row] = await db
    .insert(apiTokens)
    .values({ ...token, prefix: displayPrefix(key), hash: hashSecret(key) })
    .onConflictDoNothing()
    .returning()
  return row ? { ...row, key } : null
}

export async function deleteApiToken(db: Db, userId: number, id: number): Promise<void> {
  await db.delete(apiTokens).where(and(eq(apiTokens.userId, userId), eq(apiTokens.id, id)))
}

/** Returns the names and prefixes of a user's API tokens, newest first. */
export function listApiTokenNames(db: Db, userId: number): Promise<{ name: string; prefix: string }[]> {
  return db
    .select({ name: apiTokens.name, prefix: apiTokens.prefix })
    .from(apiTokens)
    .where(eq(apiTokens.userId, userId))
    .orderBy(desc(apiTokens.id))
    .limit(1000)
}

/** Deletes all API tokens of a user and returns them. */
export function deleteApiTokensOf(db: Db, userId: number): Promise<{ name: string; prefix: string }[]> {
  return db
    .delete(apiTokens)
    .where(eq(apiTokens.userId, userId))
    .returning({ name: apiTokens.name, prefix: apiTokens.prefix })
}

/** Deletes the API tokens that are restricted to this organization. */
export async function deleteApiTokensOfOrg(db: Db, orgId: number): Promise<void> {
  await db.delete(apiTokens).where(eq(apiTokens.orgId, orgId))
}

/** Records when an API token was last used. */
export async function touchApiToken(db: Db, id: number, at: Date): Promise<void> {
  await db.update(apiTokens).set({ lastUsedAt: at }).where(eq(apiTokens.id, id))
}

/** Returns the stored key for the purpose; stores `sealedKey` if there is none. */
export async function findOrAddSigningKey(db: Db, purpose: string, sealedKey: string): Promise<string> {
  await db.insert(signingKeys).values({ purpose, sealedKey }).onConflictDoNothing()
  const [row] = await db.select().from(signingKeys).where(eq(signingKeys.purpose, purpose))
  if (!row) throw new Error(`The signing key "${purpose}" is missing in the database`)
  return row.sealedKey
}
