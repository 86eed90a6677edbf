import { integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core'

/** One row: which host and data directory runs the squids. Its programs outlive its worker, so the claim does not expire. */
export const runtimeClaim = pgTable('runtime_claim', {
  installation: integer().primaryKey().default(1),
  runtime: text().notNull(),
  /** A random name that the data directory keeps. */
  host: text().notNull(),
  /** Host and data directory, in words for the operator. */
  place: text().notNull(),
  takenAt: timestamp({ withTimezone: true }).notNull(),
})
