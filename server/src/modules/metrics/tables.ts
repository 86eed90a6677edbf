import { bigint, index, pgTable, primaryKey, timestamp } from 'drizzle-orm/pg-core'

const bigId = () => bigint({ mode: 'number' })

/**
 * Requests to a version in one minute, as the gateways counted them; several gateways add to one row. Without a foreign key:
 * they outlive the version, for what is billed and looked up later.
 */
export const ingressMinutes = pgTable(
  'ingress_minutes',
  {
    squidId: bigId().notNull(),
    minute: timestamp({ withTimezone: true }).notNull(),
    successes: bigId().notNull(),
    errors: bigId().notNull(),
    successBytes: bigId().notNull(),
    errorBytes: bigId().notNull(),
    /** Counts by bucket of latency, of successes only (`histogram.ts`). */
    histogram: bigint({ mode: 'number' }).array().notNull(),
  },
  (t) => [primaryKey({ columns: [t.squidId, t.minute] }), index('ingress_minutes_minute').on(t.minute)],
)
