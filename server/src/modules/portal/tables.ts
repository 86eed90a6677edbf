import { bigId, index, pgTable, primaryKey, text, time } from '../../db/columns.ts'

/** Counters of streamed data by hour. Portal requests do not identify an organization; squids send their SQUID_ID. */
export const portalUsage = pgTable(
  'portal_usage',
  {
    dataset: text().notNull(),
    /** The SQUID_ID of the caller; empty for callers that are not squids. */
    version: text().notNull(),
    /** Start of the hour, UTC. */
    hour: time().notNull(),
    requests: bigId().notNull(),
    /** Size of the responses as sent. */
    bytes: bigId().notNull(),
  },
  (t) => [primaryKey({ columns: [t.dataset, t.hour, t.version] }), index('portal_usage_hour').on(t.hour)],
)
