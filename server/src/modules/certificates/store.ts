import { and, asc, eq, inArray, lte, or, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { acmeAccounts, acmeChallenges, certificates } from './tables.ts'

export type CertificateRow = typeof certificates.$inferSelect

/** The channel on which processes are notified of a changed certificate. The payload is its name. */
export const certificatesChannel = 'shoal_certificates'

export async function selectAccountKey(db: Db, directoryUrl: string): Promise<string | null> {
  const [row] = await db.select().from(acmeAccounts).where(eq(acmeAccounts.directoryUrl, directoryUrl))
  return row?.sealedKey ?? null
}

/** Inserts an account; does nothing if another process has inserted one for this authority first. */
export async function insertAccount(db: Db, account: typeof acmeAccounts.$inferInsert): Promise<void> {
  await db.insert(acmeAccounts).values(account).onConflictDoNothing()
}

export async function insertChallenge(db: Db, challenge: typeof acmeChallenges.$inferInsert): Promise<void> {
  await db.insert(acmeChallenges).values(challenge).onConflictDoNothing()
}

export async function deleteChallenges(db: Db, name: string): Promise<void> {
  await db.delete(acmeChallenges).where(eq(acmeChallenges.name, name))
}

/** Returns the key authorization for a token and a name; null if no order expects it. */
export async function selectKeyAuthorization(db: Db, token: string, name: string): Promise<string | null> {
  const [row] = await db
    .select()
    .from(acmeChallenges)
    .where(and(eq(acmeChallenges.token, token), eq(acmeChallenges.name, name), eq(acmeChallenges.type, 'http-01')))
  return row?.keyAuthorization ?? null
}

/** Returns the key authorization that the certificate of a TLS-ALPN-01 challenge must have; null if no order expects one. */
export async function selectAlpnAuthorization(db: Db, name: string): Promise<string | null> {
  const [row] = await db
    .select()
    .from(acmeChallenges)
    .where(and(eq(acmeChallenges.name, name), eq(acmeChallenges.type, 'tls-alpn-01')))
    .orderBy(asc(acmeChallenges.createdAt))
  return row?.keyAuthorization ?? null
}

/** Returns the row of a name; null if the installation does not maintain a certificate for it. */
export async function selectCertificate(db: Db, name: string): Promise<CertificateRow | null> {
  const [row] = await db.select().from(certificates).where(eq(certificates.name, name))
  return row ?? null
}

/** Returns the rows of those names for which the installation maintains a certificate, by name. */
export function selectCertificates(db: Db, names: string[]): Promise<CertificateRow[]> {
  return db.select().from(certificates).where(inArray(certificates.name, names)).orderBy(asc(certificates.name))
}

/** Adds names whose first order starts at `now`. Existing names become names of the installation itself if `isOwn`. */
export async function insertNames(db: Db, names: string[], isOwn: boolean, now: Date): Promise<void> {
  await db
    .insert(certificates)
    .values(names.map((name) => ({ name, isOwn, nextOrderAt: now })))
    .onConflictDoUpdate({
      target: certificates.name,
      set: { isOwn: true },
      // Avoids writes without a change, because every check of an organization's domain adds its name again.
      setWhere: sql`excluded.is_own and not certificates.is_own`,
    })
}

/** Returns the names whose next order is due, the longest overdue first. Omits the installation's own names that are not in `ownNames`. */
export function selectDueNames(db: Db, ownNames: string[], now: Date, limit: number): Promise<CertificateRow[]> {
  return db
    .select()
    .from(certificates)
    .where(
      and(lte(certificates.nextOrderAt, now), or(eq(certificates.isOwn, false), inArray(certificates.name, ownNames))),
    )
    .orderBy(asc(certificates.nextOrderAt))
    .limit(limit)
}

/**
 * Returns the names whose next check of the renewal time is due. Omits the installation's own names that are not in `ownNames`.
 */
export function selectDueRenewalChecks(
  db: Db,
  ownNames: string[],
  now: Date,
  limit: number,
): Promise<CertificateRow[]> {
  const isInUse = or(eq(certificates.isOwn, false), inArray(certificates.name, ownNames))
  return db
    .select()
    .from(certificates)
    .where(and(lte(certificates.renewalCheckAt, now), isInUse))
    .orderBy(asc(certificates.renewalCheckAt))
    .limit(limit)
}

/** Changes a certificate and notifies all processes that serve it. Returns false if the name was deleted. */
export async function updateCertificate(db: Db, name: string, change: Partial<CertificateRow>): Promise<boolean> {
  return await db.transaction(async (tx) => {
    const { rowCount } = await tx.update(certificates).set(change).where(eq(certificates.name, name))
    await tx.execute(sql`select pg_notify(${certificatesChannel}, ${name})`)
    return rowCount !== 0
  })
}

/**
 * Deletes the certificate of a name that is not the installation's own, and notifies all processes that serve it.
 * Returns the certificate with its chain, in PEM; null if the name had none.
 */
export async function deleteName(db: Db, name: string): Promise<string | null> {
  const [deleted] = await db
    .delete(certificates)
    .where(and(eq(certificates.name, name), eq(certificates.isOwn, false)))
    .returning({ chain: certificates.chain })
  await db.execute(sql`select pg_notify(${certificatesChannel}, ${name})`)
  return deleted?.chain ?? null
}
