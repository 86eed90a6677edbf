import { sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { ingressMinutes } from './tables.ts'

export type IngressMinute = typeof ingressMinutes.$inferInsert

/** Adds to what is there: exact with any number of gateways. */
export async function addIngress(db: Db, rows: IngressMinute[]): Promise<void> {
  if (rows.length === 0) return
  const t = ingressMinutes
  // Always in one order, so that two gateways never wait for each other in a circle.
  const ordered = rows.toSorted((a, b) => a.squidId - b.squidId || a.minute.getTime() - b.minute.getTime())
  await db
    .insert(t)
    .values(ordered)
    .onConflictDoUpdate({
      target: [t.squidId, t.minute],
      set: {
        successes: sql`${t.successes} + excluded.successes`,
        errors: sql`${t.errors} + excluded.errors`,
        successBytes: sql`${t.successBytes} + excluded.success_bytes`,
        errorBytes: sql`${t.errorBytes} + excluded.error_bytes`,
        histogram: sql`(select array_agg(coalesce(a, 0) + coalesce(b, 0) order by i) from unnest(${t.histogram}, excluded.histogram) with ordinality as both_(a, b, i))`,
      },
    })
}
