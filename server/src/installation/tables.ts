import { boolean, index, integer, jsonb, pgTable, text, time, uuid } from '../db/columns.ts'
import type { ReplicaReport } from './replica-report.ts'

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
  /** Whether only one organization may deploy; see `limitToOneOrg`. */
  isForOneOrg: boolean().notNull().default(false),
})

/** The running processes of the installation, each with a random id. Times are from the database's clock. */
export const replicas = pgTable(
  'replicas',
  {
    id: uuid().primaryKey(),
    /** `host/pid`, for the operator. */
    name: text().notNull(),
    report: jsonb().$type<ReplicaReport>().notNull(),
    startedAt: time().notNull(),
    seenAt: time().notNull(),
  },
  (t) => [index('replicas_seen').on(t.seenAt)],
)
