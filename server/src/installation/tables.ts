import { boolean, index, integer, jsonb, pgTable, text, time, uuid } from '../db/columns.ts'
import { enumChecks, oneRowCheck } from '../db/checks.ts'
import type { ReplicaReport } from './replica-report.ts'

/** The host and data directory that run the squids, in a single row. Squids outlive the worker, so the claim does not expire. */
export const runtimeClaim = pgTable('runtime_claim', {
  installation: integer().primaryKey().default(1),
  runtime: text().notNull(),
  /** Identifies the host: the random id of its data directory. */
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

/** What a move decided about each version; see `server/src/move/`. */
export type MoveDetails = {
  /** The name of the new server of each database, by the id of its version. */
  servers: Record<string, string>
  /** The versions whose database was copied to another server. */
  copied: number[]
  /** The new names of images, by their old names. */
  images: Record<string, string>
}

/**
 * The last move of the installation to or from another database of the control plane (`shoal move-runtime`), in a single row. The state is that
 * of the database with the row: `departed`: its servers refuse to start, because the installation is in another database; `copied`: they
 * refuse to start, because the move to it has not ended; `arrived`: the installation is in this database.
 */
export const installationMove = pgTable(
  'installation_move',
  {
    installation: integer().primaryKey().default(1),
    id: uuid().notNull(),
    state: text({ enum: ['departed', 'copied', 'arrived'] }).notNull(),
    /** The runtime and the address of the other database, as text for the operator. */
    other: text().notNull(),
    details: jsonb().$type<MoveDetails>().notNull(),
    /** When the programs of squids were stopped. */
    stoppedAt: time().notNull(),
    /** When this database got its state. */
    changedAt: time().notNull(),
    /** When all versions had been started again after the arrival. */
    resumedAt: time(),
  },
  (t) => [oneRowCheck('installation_move', t.installation), ...enumChecks('installation_move', t)],
)
