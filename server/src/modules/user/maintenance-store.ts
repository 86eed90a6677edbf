import type { Db } from '../../db/database.ts'
import { gt } from '../../db/sql.ts'
import { maintenances } from './tables.ts'

/** Returns the announced maintenance, unless it has ended. */
export async function findMaintenance(db: Db, now: Date) {
  const [row] = await db.select().from(maintenances).where(gt(maintenances.endsAt, now))
  if (!row) return null
  const { message, startsAt, endsAt, hasScreen } = row
  return { message, startsAt: startsAt.toISOString(), endsAt: endsAt.toISOString(), hasScreen }
}

/** Announces a maintenance window; replaces the previous announcement. */
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

/** Whether users see the maintenance screen instead of the console at this time. */
export const isScreenShown = (
  maintenance: { startsAt: string; endsAt: string; hasScreen: boolean } | null,
  now: Date,
): boolean =>
  maintenance !== null &&
  maintenance.hasScreen &&
  now >= new Date(maintenance.startsAt) &&
  now < new Date(maintenance.endsAt)
