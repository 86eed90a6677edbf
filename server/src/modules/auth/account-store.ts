import { and, count, desc, eq, gt, lt, lte } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { emailLinks, knownAddresses, oauthIdentities, users } from './tables.ts'

export type Account = typeof users.$inferSelect

/** The account whose owner has confirmed this email. */
export async function findConfirmedAccount(db: Db, email: string): Promise<Account | null> {
  const [row] = await db
    .select()
    .from(users)
    .where(and(eq(users.email, email), eq(users.emailVerified, true)))
  return row ?? null
}

/** The newest account with this email that is not confirmed. */
export async function findUnconfirmedAccount(db: Db, email: string): Promise<Account | null> {
  const [row] = await db
    .select()
    .from(users)
    .where(and(eq(users.email, email), eq(users.emailVerified, false)))
    .orderBy(desc(users.id))
    .limit(1)
  return row ?? null
}

export async function findAccount(db: Db, id: number): Promise<Account | null> {
  const [row] = await db.select().from(users).where(eq(users.id, id))
  return row ?? null
}

export async function setPasswordHash(db: Db, userId: number, passwordHash: string): Promise<void> {
  await db.update(users).set({ passwordHash }).where(eq(users.id, userId))
}

/** False when another account has already confirmed the same email. */
export async function confirmAccount(db: Db, account: Pick<Account, 'id' | 'email'>): Promise<boolean> {
  const [owner] = await db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.email, account.email), eq(users.emailVerified, true)))
  if (owner) return owner.id === account.id
  await db.update(users).set({ emailVerified: true }).where(eq(users.id, account.id))
  return true
}

export async function addEmailLink(db: Db, link: typeof emailLinks.$inferInsert): Promise<void> {
  await db.insert(emailLinks).values(link)
}

type Purpose = 'confirm' | 'restore'

/** The account of a link that has not expired. */
export async function findEmailLink(db: Db, purpose: Purpose, hash: string, now: Date): Promise<Account | null> {
  const [row] = await db
    .select({ user: users })
    .from(emailLinks)
    .innerJoin(users, eq(users.id, emailLinks.userId))
    .where(and(eq(emailLinks.hash, hash), eq(emailLinks.purpose, purpose), gt(emailLinks.expiresAt, now)))
  return row?.user ?? null
}

/** Deletes a link and all others of the same purpose. False when it was already used. */
export async function consumeEmailLink(db: Db, purpose: Purpose, userId: number, hash: string): Promise<boolean> {
  const used = await db.delete(emailLinks).where(eq(emailLinks.hash, hash)).returning({ hash: emailLinks.hash })
  if (used.length === 0) return false
  await db.delete(emailLinks).where(and(eq(emailLinks.userId, userId), eq(emailLinks.purpose, purpose)))
  return true
}

export async function deleteExpiredEmailLinks(db: Db, now: Date): Promise<void> {
  await db.delete(emailLinks).where(lte(emailLinks.expiresAt, now))
}

export async function findIdentity(db: Db, provider: string, subject: string): Promise<{ userId: number } | null> {
  const [row] = await db
    .select({ userId: oauthIdentities.userId })
    .from(oauthIdentities)
    .where(and(eq(oauthIdentities.provider, provider), eq(oauthIdentities.subject, subject)))
  return row ?? null
}

export async function addIdentity(db: Db, identity: typeof oauthIdentities.$inferInsert): Promise<void> {
  await db.insert(oauthIdentities).values(identity).onConflictDoNothing()
}

export async function isKnownAddress(db: Db, userId: number, ip: string): Promise<boolean> {
  const [row] = await db
    .select({ matches: count() })
    .from(knownAddresses)
    .where(and(eq(knownAddresses.userId, userId), eq(knownAddresses.ip, ip)))
  return (row?.matches ?? 0) > 0
}

export async function rememberAddress(db: Db, userId: number, ip: string, seenAt: Date): Promise<void> {
  await db
    .insert(knownAddresses)
    .values({ userId, ip, seenAt })
    .onConflictDoUpdate({ target: [knownAddresses.userId, knownAddresses.ip], set: { seenAt } })
}

export async function deleteAddressesSeenBefore(db: Db, before: Date): Promise<void> {
  await db.delete(knownAddresses).where(lt(knownAddresses.seenAt, before))
}
