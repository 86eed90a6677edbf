import { boolean, integer, pgTable, text, time } from '../db/columns.ts'

/** The host and data directory that run the squids, in a single row. Squids outlive the worker, so the claim does not expire. */
export const runtimeClaim = pgTable('runtime_claim', {
  installation: integer().primaryKey().default(1),
  runtime: text().notNull(),
  /** The random id of the data directory. */
  host: text().notNull(),
  /** The host and data directory, as text for the operator. */
  location: text().notNull(),
  takenAt: time().notNull(),
  /** When the programs of other hosts lost their access to the databases; null until then. See `fenceOtherHosts`. */
  fencedAt: time(),
  /** Whether only one organization may deploy; see `limitOrgs`. */
  isForOneOrg: boolean().notNull().default(false),
})
