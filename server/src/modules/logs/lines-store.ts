import { sql, timestampSql, type SQL } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { nonProcessors } from './containers.ts'
import type { LogFilter } from './filter.ts'

/**
 * A line as stored in the database. `seq`: its number within the version. `ns`: its namespace. `fields`: its other
 * fields as JSON.
 */
export type StoredLine = {
  seq: number
  atMs: number
  level: number
  container: string
  ns: string | null
  message: string
  fields: string | null
}

/** The channel of the notifications that versions have new lines. The payload is the ids of the versions, separated by commas. */
export const logsChannel = 'shoal_logs'

/** A range of lines in order of arrival, both ends included. */
export type SeqRange = { firstSeq: number; lastSeq: number }

/** The text that searches match: all displayed parts of a line. Bloom filters are built from the same text. */
export const searchedText = `concat_ws(' ', ns, message, fields)`

/** SQL of the column `at` in epoch milliseconds. */
export const atMs = `(extract(epoch from at) * 1000)::float8`

const lineColumns = sql.raw(`seq, ${atMs} as "atMs", level, container, ns, message, fields`)

/** Returns the number of a version's last line, and of its last line in a block; null when it never logged. */
export async function findStream(db: Db, squidId: number): Promise<{ lastSeq: number; indexedSeq: number } | null> {
  const { rows } = await db.execute<{ lastSeq: number; indexedSeq: number }>(
    sql`select last_seq as "lastSeq", indexed_seq as "indexedSeq" from log_streams where squid_id = ${squidId}`,
  )
  return rows[0] ?? null
}

/** Returns the number of the last line of each version that has lines. */
export async function lastSeqs(db: Db, squidIds: number[]): Promise<Map<number, number>> {
  const { rows } = await db.execute<{ squidId: number; lastSeq: number }>(
    sql`select squid_id as "squidId", last_seq as "lastSeq" from log_streams where squid_id = any(${sql.param(squidIds)}::bigint[])`,
  )
  return new Map(rows.map((row) => [row.squidId, row.lastSeq]))
}

/** Returns when a line was written, in epoch milliseconds; null when it does not exist, or was deleted with its day. */
export async function findTimeOf(db: Db, squidId: number, seq: number): Promise<number | null> {
  const { rows } = await db.execute<{ atMs: number }>(
    sql`select ${sql.raw(atMs)} as "atMs" from log_lines where squid_id = ${squidId} and seq = ${seq}`,
  )
  return rows[0]?.atMs ?? null
}

/** Returns the number of lines in a range that match the filter. */
export async function countLines(db: Db, squidId: number, range: SeqRange, filter: LogFilter): Promise<number> {
  const { firstSeq, lastSeq } = range
  const conditions = [sql`squid_id = ${squidId}`, sql`seq between ${firstSeq} and ${lastSeq}`, ...conditionsOf(filter)]
  const { rows } = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from log_lines where ${sql.join(conditions, sql` and `)}`,
  )
  return rows[0]?.count ?? 0
}

/** The order of time in which lines are returned. */
export type Direction = 'asc' | 'desc'
/** A position in the order by time, then arrival. */
export type LinePosition = { atMs: number; seq: number }

/** Which lines to read. */
export type LineQuery = {
  squidId: number
  ranges: SeqRange[]
  fromMs: number | null
  toMs: number | null
  /** Only lines strictly after this position, in the direction. */
  after: LinePosition | null
  filter: LogFilter
  direction: Direction
  limit: number
  /** The maximum size of the returned text, which the last line may exceed. */
  maxBytes: number
}

/** The size of a line's text in bytes. The same in SQL is `bytesColumn`. */
export const bytesOf = ({ ns, message, fields }: StoredLine): number =>
  Buffer.byteLength(ns ?? '') + Buffer.byteLength(message) + Buffer.byteLength(fields ?? '')

const bytesColumn = sql.raw(
  'octet_length(message) + coalesce(octet_length(ns), 0) + coalesce(octet_length(fields), 0) as bytes',
)

/** `limit`: the maximum number of lines. `maxBytes`: the maximum size of their text, which the last line may exceed. */
export type PartQuery = { afterSeq: number; limit: number; maxBytes: number }

/** Returns the next lines in order of arrival. `hasMore`: there may be more after them. */
export async function readAfter(
  db: Db,
  squidId: number,
  { afterSeq, limit, maxBytes }: PartQuery,
): Promise<{ lines: StoredLine[]; hasMore: boolean }> {
  const { rows } = await db.execute<StoredLine>(sql`
    select seq, "atMs", level, container, ns, message, fields
    from (
      select *, sum(bytes) over (order by seq rows unbounded preceding) - bytes as "bytesBefore"
      from (
        select ${lineColumns}, ${bytesColumn} from log_lines where squid_id = ${squidId} and seq > ${afterSeq}
        order by seq limit ${limit}
      ) line
    ) sized
    where "bytesBefore" < ${maxBytes} order by seq`)
  const bytes = rows.reduce((sum, line) => sum + bytesOf(line), 0)
  return { lines: rows, hasMore: rows.length === limit || bytes >= maxBytes }
}

/** Returns the first matching lines of the ranges, up to `limit` and `maxBytes`, ordered by time in the query's direction. */
export async function readRanges(db: Db, query: LineQuery): Promise<StoredLine[]> {
  const order = sql.raw(query.direction)
  // Literal numbers instead of parameters let Postgres estimate how few lines these are.
  const inRanges = query.ranges.map(({ firstSeq, lastSeq }) => sql.raw(`seq between ${firstSeq} and ${lastSeq}`))
  const conditions = [
    sql`squid_id = ${query.squidId}`,
    sql`(${sql.join(inRanges, sql` or `)})`,
    ...boundsOf(query),
    ...conditionsOf(query.filter),
  ]
  const sorted = sql`order by at ${order}, seq ${order}`
  const { rows } = await db.execute<StoredLine>(sql`
    select seq, "atMs", level, container, ns, message, fields
    from (
      select *, sum(bytes) over (${sorted} rows unbounded preceding) - bytes as "bytesBefore"
      from (
        select ${lineColumns}, at, ${bytesColumn} from log_lines where ${sql.join(conditions, sql` and `)}
        ${sorted} limit ${query.limit}
      ) line
    ) sized
    where "bytesBefore" < ${query.maxBytes} ${sorted}`)
  return rows
}

function boundsOf({ fromMs, toMs, after, direction }: LineQuery): SQL[] {
  const bounds: SQL[] = []
  if (fromMs !== null) bounds.push(sql`at >= ${timestampSql(fromMs)}`)
  if (toMs !== null) bounds.push(sql`at <= ${timestampSql(toMs)}`)
  // The bare bound on `at` lets Postgres skip partitions.
  if (after && direction === 'desc')
    bounds.push(sql`at <= ${timestampSql(after.atMs)}`, sql`(at, seq) < (${timestampSql(after.atMs)}, ${after.seq})`)
  if (after && direction === 'asc')
    bounds.push(sql`at >= ${timestampSql(after.atMs)}`, sql`(at, seq) > (${timestampSql(after.atMs)}, ${after.seq})`)
  return bounds
}

/** The same filter as `matches` in `filter.ts`. */
function conditionsOf({ levels, containers, search }: LogFilter): SQL[] {
  const conditions: SQL[] = []
  if (levels) conditions.push(sql`level = any(${sql.param(levels)}::smallint[])`)
  if (containers) {
    const isNamed = sql`container = any(${sql.param(containers.names)}::text[])`
    const isProcessor = sql`container <> all(${sql.param(nonProcessors)}::text[])`
    conditions.push(containers.allProcessors ? sql`(${isNamed} or ${isProcessor})` : isNamed)
  }
  if (search !== null)
    conditions.push(sql`${sql.raw(searchedText)} ${collationFor(search)} ilike ${likePattern(search)}`)
  return conditions
}

const likePattern = (search: string) => `%${search.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`

/** The collation "C" ignores case for ASCII only, but is several times faster. */
// eslint-disable-next-line no-control-regex -- this is the range of printable ASCII
const collationFor = (search: string): SQL =>
  sql.raw(/^[\x20-\x7e]*$/.test(search) ? 'collate "C"' : 'collate "und-x-icu"')
