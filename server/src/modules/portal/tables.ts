import { bigint, index, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'

/** Streamed data by hour, append-only counters. The Portal knows no organizations: callers name their squid. */
export const portalUsage = pgTable(
  'portal_usage',
  {
    dataset: text().notNull(),
    /** The SQUID_ID of the caller; empty for callers that are not squids. */
    version: text().notNull(),
    /** Start of the hour, UTC. */
    hour: timestamp({ withTimezone: true }).notNull(),
    requests: bigint({ mode: 'number' }).notNull(),
    /** Size of the responses as sent. */
    bytes: bigint({ mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.dataset, t.hour, t.version] }), index('portal_usage_hour').on(t.hour)],
)
