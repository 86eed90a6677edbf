import { and, count, desc, eq, gt, inArray, lt, lte } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { emailLinks, knownAddresses, oauthIdentities, users } from './tables.ts'

export type Account = typeof users.$inferSelect

/** Returns the account whose owner has confirmed this email; null if there is none. */
export async function findConfirmedAccount(db: Db, email: string): Promise<Account | null> {
  const [row] = await db
    .select()
    .from(users)
    .where(and(eq(users.email, email), eq(users.emailVerified, true)))
  return row ?? null
}

/** Returns the newest unconfirmed account with this email; null if there is none. */
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

/** @throws Error when the account does not exist */
export async function getAccount(db: Db, id: number): Promise<Account> {
  const account = await findAccount(db, id)
  if (!account) throw new Error(`User ${id} does not exist`)
  return account
}

/** Inserts an account. Returns null when its email is confirmed, and another account has already confirmed the same email. */
export async function addAccount(db: Db, account: typeof users.$inferInsert): Promise<Account | null> {
  const [row] = await db.insert(users).values(account).onConflictDoNothing().returning()
  return row ?? null
}

/** @throws Error when the account does not exist */
export async function changeAccount(db: Db, id: number, change: Partial<typeof users.$inferInsert>): Promise<Account> {
  const [row] = await db.update(users).set(change).where(eq(users.id, id)).returning()
  if (!row) throw new Error(`User ${id} does not exist`)
  return row
}

/**
 * Deletes up to `limit` unconfirmed accounts that were created before a time. Locks them first, so that they cannot be confirmed in the
 * meantime, and calls `beforeDelete` with their ids.
 */
export async function deleteUnconfirmedAccounts(
  tx: Db,
  { before, limit }: { before: Date; limit: number },
  beforeDelete: (ids: number[]) => Promise<void>,
): Promise<void> {
  const rows = await tx
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.emailVerified, false), lt(users.createdAt, before)))
    .orderBy(users.id)
    .limit(limit)
    .for('update')
  const ids = rows.map((row) => row.id)
  await beforeDelete(ids)
  await tx.delete(users).where(inArray(users.id, ids))
}

/** Sets whether the confirmed account with this email is an operator. Returns false if there is no such account. */
export async function setOperator(db: Db, email: string, isOperator: boolean): Promise<boolean> {
  const changed = await db
    .update(users)
    .set({ isOperator })
    .where(and(eq(users.email, email), eq(users.emailVerified, true)))
    .returning({ id: users.id })
  return changed.length > 0
}

/** Sets a password. `generatedUntil`: when it expires, if the operator's command generated it. */
export async function setPasswordHash(
  db: Db,
  userId: number,
  passwordHash: string,
  generatedUntil: Date | null = null,
): Promise<void> {
  await db
    .update(users)
    .set({
      passwordHash,
      generatedPasswordUntil: generatedUntil,
      generatedPasswordHash: generatedUntil && passwordHash,
    })
    .where(eq(users.id, userId))
}

export async function deletePassword(db: Db, userId: number): Promise<void> {
  await db
    .update(users)
    .set({ passwordHash: null, generatedPasswordUntil: null, generatedPasswordHash: null })
    .where(eq(users.id, userId))
}

/** Confirms the email of an account. Returns false when another account has already confirmed the same email. */
export async function confirmAccount(db: Db, account: Pick<Account, 'id' | 'email'>, at: Date): Promise<boolean> {
  const [owner] = await db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.email, account.email), eq(users.emailVerified, true)))
  if (owner && owner.id !== account.id) return false
  await db.update(users).set({ emailVerified: true, emailProvenAt: at }).where(eq(users.id, account.id))
  return true
}

export async function addEmailLink(db: Db, link: typeof emailLinks.$inferInsert): Promise<void> {
  await db.insert(emailLinks).values(link)
}

type Purpose = 'confirm' | 'restore'

/** Returns the account of a link; null if the link is unknown or has expired. */
export async function findEmailLink(db: Db, purpose: Purpose, hash: string, now: Date): Promise<Account | null> {
  const [row] = await db
    .select({ user: users })
    .from(emailLinks)
    .innerJoin(users, eq(users.id, emailLinks.userId))
    .where(and(eq(emailLinks.hash, hash), eq(emailLinks.purpose, purpose), gt(emailLinks.expiresAt, now)))
  return row?.user ?? null
}

/** Deletes a link and all others of the account with the same purpose. Returns false when the link was already used. */
export async function consumeEmailLink(db: Db, purpose: Purpose, userId: number, hash: string): Promise<boolean> {
  const deleted = await db.delete(emailLinks).where(eq(emailLinks.hash, hash)).returning({ hash: emailLinks.hash })
  if (deleted.length === 0) return false
  await db.delete(emailLinks).where(and(eq(emailLinks.userId, userId), eq(emailLinks.purpose, purpose)))
  return true
}

export async function deleteExpiredEmailLinks(db: Db, now: Date): Promise<void> {
  await db.delete(emailLinks).where(lte(emailLinks.expiresAt, now))
}

/** Returns the user with the id `subject` at a sign-in provider; null if there is none. */
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

/** Returns the names of the linked providers, in alphabetical order. */
export async function listProviders(db: Db, userId: number): Promise<string[]> {
  const rows = await db
    .select({ provider: oauthIdentities.provider })
    .from(oauthIdentities)
    .where(eq(oauthIdentities.userId, userId))
    .orderBy(oauthIdentities.provider)
  return rows.map((row) => row.provider)
}

/** Unlinks all providers from an account, and returns their names. */
export async function deleteIdentitiesOf(db: Db, userId: number): Promise<string[]> {
  const rows = await db
    .delete(oauthIdentities)
    .where(eq(oauthIdentities.userId, userId))
    .returning({ provider: oauthIdentities.provider })
  return rows.map((row) => row.provider).toSorted()
}

/** Deletes the known IP addresses of a user. */
export async function deleteAddressesOf(db: Db, userId: number): Promise<void> {
  await db.delete(knownAddresses).where(eq(knownAddresses.userId, userId))
}

/** Whether the user has signed in from this IP address before. */
export async function isKnownAddress(db: Db, userId: number, ip: string): Promise<boolean> {
  const [row] = await db
    .select({ matches: count() })
    .from(knownAddresses)
    .where(and(eq(knownAddresses.userId, userId), eq(knownAddresses.ip, ip)))
  return (row?.matches ?? 0) > 0
}

export async function saveKnownAddress(db: Db, userId: number, ip: string, seenAt: Date): Promise<void> {
  await db
    .insert(knownAddresses)
    .values({ userId, ip, seenAt })
    .onConflictDoUpdate({ target: [knownAddresses.userId, knownAddresses.ip], set: { seenAt } })
}

export async function deleteAddressesSeenBefore(db: Db, before: Date): Promise<void> {
  await db.delete(knownAddresses).where(lt(knownAddresses.seenAt, before))
}
