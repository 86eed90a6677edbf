import { profiles } from '@shoal/contract'
import { bigId, id, index, integer, pgTable, text, time } from '../../db/columns.ts'
import { enumChecks, oneRowCheck } from '../../db/checks.ts'
import { mainServer } from '../../config/database-settings.ts'
import { sql } from '../../db/sql.ts'
import { squids } from '../versions/index.ts'

/** The databases of versions with the addon `postgres`. `role` owns the database; `readRole` may only read it. */
export const squidDatabases = pgTable(
  'squid_databases',
  {
    squidId: bigId()
      .primaryKey()
      .references(() => squids.id, { onDelete: 'cascade' }),
    /** The name of the server in SHOAL_SQUIDS_DATABASE_URL that has the database. */
    server: text().notNull().default(mainServer),
    /** The server to which a deployment moves the database; its new programs use the copy there. Null when the database is not moved. */
    movingTo: text(),
    database: text().notNull(),
    role: text().notNull(),
    sealedPassword: text().notNull(),
    readRole: text().notNull(),
    sealedReadPassword: text().notNull(),
    /** The major version of the Postgres server. */
    version: text().notNull(),
    profile: text({ enum: profiles }).notNull(),
    /** Bounds of the owner's connection limit; see `connectionRange`. */
    minConnections: integer().notNull().default(0),
    maxConnections: integer().notNull().default(0),
    maxExternalConnections: integer().notNull().default(0),
    /** `SessionLimits` of the manifest; null if the version was last deployed by a release that did not record them. */
    statementMs: bigId(),
    idleInTransactionMs: bigId(),
    totalBytes: bigId().notNull(),
    /** Null until measured. */
    usedBytes: bigId(),
    measuredAt: time(),
  },
  (t) => [
    index('squid_databases_moving')
      .on(t.movingTo)
      .where(sql`${t.movingTo} is not null`),
    ...enumChecks('squid_databases', t),
  ],
)

/**
 * Logins of single programs that write to a version's database, named by `loginRoleName`. Each is used by one program on one host, and is
 * closed before the program starts on another host.
 */
export const squidLogins = pgTable(
  'squid_logins',
  {
    id: id(),
    squidId: bigId()
      .notNull()
      .references(() => squidDatabases.squidId, { onDelete: 'cascade' }),
    workload: text().notNull(),
    container: text().notNull(),
    sealedPassword: text().notNull(),
    /**
     * When the login was closed, after which it is never opened again. The row exists until the login's role has been dropped.
     */
    closedAt: time(),
  },
  (t) => [index('squid_logins_squid').on(t.squidId)],
)

/**
 * The prefix of the names of this installation's databases and roles, so that several installations can share a Postgres. One
 * row.
 */
export const installation = pgTable(
  'installation',
  {
    id: integer().primaryKey().default(1),
    prefix: text().notNull(),
  },
  (t) => [oneRowCheck('installation', t.id)],
)
