import { bigint, customType, index, pgTable, primaryKey, smallint, text, timestamp } from 'drizzle-orm/pg-core'

const bigId = () => bigint({ mode: 'number' })
const time = () => timestamp({ withTimezone: true })
const bytes = customType<{ data: Buffer }>({ dataType: () => 'bytea' })

/** Read position of each log source of the runtime; moved in the transaction that writes its lines. */
export const logCursors = pgTable('log_cursors', {
  source: text().primaryKey(),
  position: text().notNull(),
})

/** One row for each version that ever logged. Lines up to `indexedSeq` are in blocks; later ones are searched one by one. */
export const logStreams = pgTable('log_streams', {
  squidId: bigId().primaryKey(),
  lastSeq: bigId().notNull(),
  indexedSeq: bigId().notNull(),
})

/** `seq` counts up by one within a version, in order of arrival. Partitioned by the UTC day of `at` (see `db/day-partitions.ts`). */
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

/** Summary of about a thousand consecutive lines, so that a search skips blocks that cannot match. */
export const logBlocks = pgTable(
  'log_blocks',
  {
    squidId: bigId().notNull(),
    firstSeq: bigId().notNull(),
    lastSeq: bigId().notNull(),
    minAt: time().notNull(),
    maxAt: time().notNull(),
    /** Bit n: the block has a line of the level with number n. */
    levelMask: smallint().notNull(),
    containers: text().array().notNull(),
    /** Bloom filter over short pieces of the text; its size is a power of two. Stored external: a search reads single bytes of it. */
    bloom: bytes().notNull(),
  },
  (t) => [primaryKey({ name: 'log_blocks_pkey', columns: [t.squidId, t.firstSeq] })],
)
