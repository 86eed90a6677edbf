import { and, asc, desc, eq, inArray, notInArray } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { retiredSecrets, secrets } from './tables.ts'

export type SecretRow = typeof secrets.$inferSelect

/** Lists an organization's secrets, ordered by name. */
export function listSecrets(db: Db, orgId: number): Promise<SecretRow[]> {
  return db.select().from(secrets).where(eq(secrets.orgId, orgId)).orderBy(asc(secrets.name))
}

/** Returns a secret and locks its row until the transaction ends; null if there is none with this name. */
export async function lockSecret(db: Db, orgId: number, name: string): Promise<SecretRow | null> {
  const [row] = await db
    .select()
    .from(secrets)
    .where(and(eq(secrets.orgId, orgId), eq(secrets.name, name)))
    .for('update')
  return row ?? null
}

/** Adds a secret, or replaces its value. */
export async function saveSecret(db: Db, secret: typeof secrets.$inferInsert): Promise<void> {
  const { sealedValue, updatedAt, updatedBy } = secret
  await db
    .insert(secrets)
    .values(secret)
    .onConflictDoUpdate({ target: [secrets.orgId, secrets.name], set: { sealedValue, updatedAt, updatedBy } })
}

export async function deleteSecret(db: Db, orgId: number, name: string): Promise<void> {
  await db.delete(secrets).where(and(eq(secrets.orgId, orgId), eq(secrets.name, name)))
}

/** Saves a replaced or deleted value for redaction, and deletes all but the newest `limit` values of its name. */
export async function retireSecret(db: Db, { orgId, name, sealedValue }: SecretRow, limit: number): Promise<void> {
  await db.insert(retiredSecrets).values({ orgId, name, sealedValue })
  const withName = and(eq(retiredSecrets.orgId, orgId), eq(retiredSecrets.name, name))
  const newest = db
    .select({ id: retiredSecrets.id })
    .from(retiredSecrets)
    .where(withName)
    .orderBy(desc(retiredSecrets.id))
    .limit(limit)
  await db.delete(retiredSecrets).where(and(withName, notInArray(retiredSecrets.id, newest)))
}

/** Returns the sealed values of the organizations, including replaced and deleted ones. */
export async function listSealedValues(db: Db, orgIds: number[]) {
  const fields = (table: typeof secrets | typeof retiredSecrets) => ({
    orgId: table.orgId,
    name: table.name,
    sealedValue: table.sealedValue,
  })
  const [current, retired] = await Promise.all([
    db.select(fields(secrets)).from(secrets).where(inArray(secrets.orgId, orgIds)),
    db.select(fields(retiredSecrets)).from(retiredSecrets).where(inArray(retiredSecrets.orgId, orgIds)),
  ])
  return [...current, ...retired]
}
