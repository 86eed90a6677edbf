import { inArray } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { squids } from './tables.ts'

/** Those of the versions that were not deleted. */
export async function existingSquids(db: Db, ids: number[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set()
  const rows = await db.select({ id: squids.id }).from(squids).where(inArray(squids.id, ids))
  return new Set(rows.map((row) => row.id))
}
