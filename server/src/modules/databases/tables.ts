import { profiles } from '@shoal/contract'
import { bigint, integer, pgTable, text, timestamp } from 'drizzle-orm/pg-core'
import { enumChecks, oneRowCheck } from '../../db/checks.ts'
import { squids } from '../versions/index.ts'

const bigId = () => bigint({ mode: 'number' })
const time = () => timestamp({ withTimezone: true })

/** The database of a version with addon postgres. `role` owns it; `readRole` may only read (contract 6.3). */
export const squidDatabases = pgTable(
  'squid_databases',
  {
    squidId: bigId()
      .primaryKey()
      .references(() => squids.id, { onDelete: 'cascade' }),
    database: text().notNull(),
    role: text().notNull(),
    sealedPassword: text().notNull(),
    readRole: text().notNull(),
    sealedReadPassword: text().notNull(),
    version: text().notNull(),
    profile: text({ enum: profiles }).notNull(),
    maxExternalConnections: integer().notNull().default(0),
    totalBytes: bigId().notNull(),
    /** Null until measured. */
    usedBytes: bigId(),
    measuredAt: time(),
  },
  (t) => enumChecks('squid_databases', t),
)

/** One row: the prefix of the databases and roles of this installation, so that two installations can share a Postgres. */
export const installation = pgTable(
  'installation',
  {
    id: integer().primaryKey().default(1),
    prefix: text().notNull(),
  },
  (t) => [oneRowCheck('installation', t.id)],
)
