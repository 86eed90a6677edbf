import { and, asc, desc, eq, inArray, notInArray } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { retiredSecrets, secrets } from './tables.ts'

export type SecretRow = typeof secrets.$inferSelect

/** By name. */
export function listSecrets(db: Db, orgId: number): Promise<SecretRow[]> {
  return db.select().from(secrets).where(eq(secrets.orgId, orgId)).orderBy(asc(secrets.name))
}

/** Locks the secret until the transaction ends. */
export async function lockSecret(db: Db, orgId: number, name: string): Promise<SecretRow | null> {
  const [row] = await db
    .select()
    .from(secrets)
    .where(and(eq(secrets.orgId, orgId), eq(secrets.name, name)))
    .for('update')
  return row ?? null
}

export async function putSecret(db: Db, secret: typeof secrets.$inferInsert): Promise<void> {
  const { sealedValue, updatedAt, updatedBy } = secret
  await db
    .insert(secrets)
    .values(secret)
    .onConflictDoUpdate({ target: [secrets.orgId, secrets.name], set: { sealedValue, updatedAt, updatedBy } })
}

export async function deleteSecret(db: Db, orgId: number, name: string): Promise<void> {
  await db.delete(secrets).where(and(eq(secrets.orgId, orgId), eq(secrets.name, name)))
}

/** Keeps a replaced or deleted value, and of its name only the newest `limit`. */
export async function retireSecret(db: Db, { orgId, name, sealedValue }: SecretRow, limit: number): Promise<void> {
  await db.insert(retiredSecrets).values({ orgId, name, sealedValue })
  const ofName = and(eq(retiredSecrets.orgId, orgId), eq(retiredSecrets.name, name))
  const newest = db
    .select({ id: retiredSecrets.id })
    .from(retiredSecrets)
    .where(ofName)
    .orderBy(desc(retiredSecrets.id))
    .limit(limit)
  await db.delete(retiredSecrets).where(and(ofName, notInArray(retiredSecrets.id, newest)))
}

/** Sealed values of the organizations, including replaced ones. */
export async function listSealedValues(db: Db, orgIds: number[]) {
  const fields = (table: typeof secrets | typeof retiredSecrets) => ({
    orgId: table.orgId,
    name: table.name,
    sealedValue: table.sealedValue,
  })
  const [now, before] = await Promise.all([
    db.select(fields(secrets)).from(secrets).where(inArray(secrets.orgId, orgIds)),
    db.select(fields(retiredSecrets)).from(retiredSecrets).where(inArray(retiredSecrets.orgId, orgIds)),
  ])
  return [...now, ...before]
}
