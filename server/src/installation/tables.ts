import { integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core'

/** A single row: the host and data directory that run the squids. Squids outlive the worker, so the claim does not expire. */
export const runtimeClaim = pgTable('runtime_claim', {
  installation: integer().primaryKey().default(1),
  runtime: text().notNull(),
  /** The random id of the data directory. */
  host: text().notNull(),
  /** Host and data directory, as a text for the operator. */
  place: text().notNull(),
  takenAt: timestamp({ withTimezone: true }).notNull(),
})
