import { eq, lte, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { rateCounters } from './tables.ts'

/** Counts one call; starts a new window if the previous one has ended. Returns the count and the end of the window. */
export async function incrementCounter(db: Db, key: string, now: Date, windowMs: number) {
  const endsAt = new Date(now.getTime() + windowMs)
  const hasEnded = sql`${rateCounters.endsAt} <= ${now.toISOString()}`
  const [row] = await db
    .insert(rateCounters)
    .values({ key, count: 1, endsAt })
    .onConflictDoUpdate({
      target: rateCounters.key,
      set: {
        count: sql`case when ${hasEnded} then 1 else ${rateCounters.count} + 1 end`,
        endsAt: sql`case when ${hasEnded} then excluded.ends_at else ${rateCounters.endsAt} end`,
      },
    })
    .returning({ count: rateCounters.count, endsAt: rateCounters.endsAt })
  if (!row) throw new Error('The counter returned no row')
  return row
}

/** Reverts the count of one call; the count never falls below 0. */
export async function decrementCounter(db: Db, key: string): Promise<void> {
  await db
    .update(rateCounters)
    .set({ count: sql`greatest(${rateCounters.count} - 1, 0)` })
    .where(eq(rateCounters.key, key))
}

export async function deleteCounter(db: Db, key: string): Promise<void> {
  await db.delete(rateCounters).where(eq(rateCounters.key, key))
}

/** Deletes all counters whose keys start with `prefix`. */
export async function deleteCountersWith(db: Db, prefix: string): Promise<void> {
  await db.delete(rateCounters).where(sql`starts_with(${rateCounters.key}, ${prefix})`)
}

export async function deleteExpiredCounters(db: Db, now: Date): Promise<void> {
  await db.delete(rateCounters).where(lte(rateCounters.endsAt, now))
}
