import { bigint, index, pgTable, primaryKey, text, timestamp } from 'drizzle-orm/pg-core'

/** What was streamed, by the hour; only ever added to. The Portal knows no organizations: callers say which squid they are. */
export const portalUsage = pgTable(
  'portal_usage',
  {
    dataset: text().notNull(),
    /** The SQUID_ID of the caller; empty for callers that are not squids. */
    version: text().notNull(),
    /** Its beginning, UTC. */
    hour: timestamp({ withTimezone: true }).notNull(),
    requests: bigint({ mode: 'number' }).notNull(),
    /** Of the answers, as they were sent. */
    bytes: bigint({ mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.dataset, t.hour, t.version] }), index('portal_usage_hour').on(t.hour)],
)
