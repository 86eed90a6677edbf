import type { Db } from '../../db/database.ts'
import { gt } from '../../db/sql.ts'
import { maintenances } from './tables.ts'

/** Returns the announced maintenance, unless it has ended. */
export async function findMaintenance(db: Db, now: Date) {
  const [row] = await db.select().from(maintenances).where(gt(maintenances.endsAt, now))
  return row ? { message: row.message, startsAt: row.startsAt.toISOString(), endsAt: row.endsAt.toISOString() } : null
}

/** Announces a maintenance instead of the previous one. */
export async function saveMaintenance(
  db: Db,
  maintenance: Omit<typeof maintenances.$inferInsert, 'id'>,
): Promise<void> {
  await db
    .insert(maintenances)
    .values({ id: 1, ...maintenance })
    .onConflictDoUpdate({ target: maintenances.id, set: maintenance })
}

export async function deleteMaintenance(db: Db): Promise<void> {
  await db.delete(maintenances)
}
