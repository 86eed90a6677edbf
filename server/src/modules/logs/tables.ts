import { bigId, boolean, customType, date, index, pgTable, primaryKey, smallint, text, time } from '../../db/columns.ts'
import { enumChecks } from '../../db/checks.ts'
import { limitKinds } from './ingest/limiter.ts'

const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

/** The read position of each log source of the runtime, updated in the transaction that writes its lines. */
export const logCursors = pgTable('log_cursors', {
  source: text().primaryKey(),
  position: text().notNull(),
})

/**
 * Notices of `squid_notices` that are in a log but not deleted yet, so that none is stored twice: the tables may be in
 * two databases.
 */
export const logNotices = pgTable('log_notices', { id: bigId().primaryKey() })

/**
 * Has a row once new lines go to a separate database (`move/`); the trigger of `log_streams` then refuses writes here. Only in
 * the database of the control plane.
 */
export const logDatabases = pgTable('log_databases', {
  /** The id that the table `log_owner` of the database of logs contains. */
  id: text().primaryKey(),
  /** When the move of the earlier lines ended; null until then. */
  movedAt: time(),
})

/**
 * One row for each version that has written log lines. Lines up to `indexedSeq` are in blocks; searches read later lines one by one.
 * `usageBytes` is the number of bytes that the version stored on `usageDay`, its last UTC day with lines. `quotaReportedOn` is the last UTC
 * day on which its log reported that a daily quota is used up.
 */
export const logStreams = pgTable('log_streams', {
  squidId: bigId().primaryKey(),
  lastSeq: bigId().notNull(),
  indexedSeq: bigId().notNull(),
  usageDay: date(),
  usageBytes: bigId().notNull().default(0),
  quotaReportedOn: date(),
})

/**
 * How many bytes the versions of an organization stored on a UTC day, including versions that were deleted. Rows of
 * past days are deleted.
 */
export const logOrgUsage = pgTable('log_org_usage', {
  orgId: bigId().primaryKey(),
  day: date().notNull(),
  bytes: bigId().notNull(),
})

/** Dropped lines that the logs of their versions have not reported yet; see `ingest/drops.ts`. */
export const logDrops = pgTable(
  'log_drops',
  {
    squidId: bigId().primaryKey(),
    lines: bigId().notNull(),
    isEstimate: boolean().notNull(),
    exceeded: text({ enum: limitKinds }).notNull(),
    /** Whether `exceeded` is a rate of the organization. A separate column, because release 0.1.0 must be able to read `exceeded`. */
    isOfOrg: boolean().notNull().default(false),
    fromAt: time().notNull(),
    toAt: time().notNull(),
  },
  (t) => enumChecks('log_drops', t),
)

/**
 * `seq` numbers the lines of a version in order of arrival, without gaps. The table is partitioned by the UTC day of `at` (see
 * `db/day-partitions.ts`).
 */
export const logLines = pgTable(
  'log_lines',
  {
    squidId: bigId().notNull(),
    seq: bigId().notNull(),
    at: time().notNull(),
    level: smallint().notNull(),
    container: text().notNull(),
    ns: text(),
    message: text().notNull(),
    fields: text(),
  },
  (t) => [index('log_lines_squid_seq').on(t.squidId, t.seq)],
)

/** Summaries of about a thousand consecutive lines each, so that a search skips blocks that cannot match. */
export const logBlocks = pgTable(
  'log_blocks',
  {
    squidId: bigId().notNull(),
    firstSeq: bigId().notNull(),
    lastSeq: bigId().notNull(),
    minAt: time().notNull(),
    maxAt: time().notNull(),
    /** Bit n is set if the block has a line of the level with number n. */
    levelMask: smallint().notNull(),
    containers: text().array().notNull(),
    /** Bloom filter of the text, see `bloom.ts`. Its storage is EXTERNAL, because a search reads single bytes of it. */
    bloom: bytes().notNull(),
  },
  (t) => [
    primaryKey({ name: 'log_blocks_pkey', columns: [t.squidId, t.firstSeq] }),
    index('log_blocks_max_at').on(t.maxAt),
  ],
)
