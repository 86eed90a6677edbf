import { and, asc, eq } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { secrets } from './tables.ts'

export type SecretRow = typeof secrets.$inferSelect

/** By name. */
export function listSecrets(db: Db, orgId: number): Promise<SecretRow[]> {
  return db.select().from(secrets).where(eq(secrets.orgId, orgId)).orderBy(asc(secrets.name))
}

export async function putSecret(db: Db, secret: typeof secrets.$inferInsert): Promise<void> {
  const { sealedValue, updatedAt, updatedBy } = secret
  await db
    .insert(secrets)
    .values(secret)
    .onConflictDoUpdate({ target: [secrets.orgId, secrets.name], set: { sealedValue, updatedAt, updatedBy } })
}

/** False when there was none. */
export async function deleteSecret(db: Db, orgId: number, name: string): Promise<boolean> {
  const rows = await db
    .delete(secrets)
    .where(and(eq(secrets.orgId, orgId), eq(secrets.name, name)))
    .returning({ name: secrets.name })
  return rows.length > 0
}
