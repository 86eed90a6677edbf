import { sql, timestampSql, type SQL } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { hashesOfTerm } from '../bloom.ts'
import { nonProcessors } from '../containers.ts'
import type { LogFilter } from '../filter.ts'
import { atMs, type Direction, type LinePosition } from '../lines-store.ts'

/** A block of lines that may contain matches. */
export type CandidateBlock = { firstSeq: number; lastSeq: number; minAtMs: number; maxAtMs: number }

/** Which blocks to look up. Lines up to `indexedSeq` are in blocks. */
export type CandidateQuery = {
  squidId: number
  indexedSeq: number
  fromMs: number | null
  toMs: number | null
  after: LinePosition | null
  filter: LogFilter
  direction: Direction
  /** The last block of the previous lookup: only blocks after it are returned. */
  afterBlock: CandidateBlock | null
  limit: number
}

/** Returns the next blocks that may contain matching lines, ordered by time in the query's direction. */
export async function findCandidates(db: Db, query: CandidateQuery): Promise<CandidateBlock[]> {
  const isDescending = query.direction === 'desc'
  const order = sql.raw(query.direction)
  const sortColumn = sql.raw(isDescending ? 'max_at' : 'min_at')
  const conditions = [
    sql`squid_id = ${query.squidId}`,
    sql`last_seq <= ${query.indexedSeq}`,
    ...timeConditions(query),
    ...contentConditions(query.filter),
  ]
  if (query.afterBlock) {
    const at = timestampSql(isDescending ? query.afterBlock.maxAtMs : query.afterBlock.minAtMs)
    conditions.push(
      sql`(${sortColumn}, first_seq) ${sql.raw(isDescending ? '<' : '>')} (${at}, ${query.afterBlock.firstSeq})`,
    )
  }
  const gramConditions = hashesOfTerm(query.filter.search ?? '').map(mightContain)
  // "offset 0" prevents Postgres from merging the two selects: it reads Bloom filters in order, and stops at the limit.
  const { rows } = await db.execute<CandidateBlock>(sql`
    select first_seq as "firstSeq", last_seq as "lastSeq", ${epoch('min_at')} as "minAtMs", ${epoch('max_at')} as "maxAtMs"
    from (
      select * from log_blocks where ${sql.join(conditions, sql` and `)}
      order by ${sortColumn} ${order}, first_seq ${order} offset 0
    ) block
    ${gramConditions.length > 0 ? sql`where ${sql.join(gramConditions, sql` and `)}` : sql``} limit ${query.limit}`)
  return rows
}

const epoch = (column: string) => sql.raw(atMs.replace('at', column))

function timeConditions({ fromMs, toMs, after, direction }: CandidateQuery): SQL[] {
  const conditions: SQL[] = []
  if (fromMs !== null) conditions.push(sql`max_at >= ${timestampSql(fromMs)}`)
  if (toMs !== null) conditions.push(sql`min_at <= ${timestampSql(toMs)}`)
  if (after && direction === 'desc') conditions.push(sql`min_at <= ${timestampSql(after.atMs)}`)
  if (after && direction === 'asc') conditions.push(sql`max_at >= ${timestampSql(after.atMs)}`)
  return conditions
}

function contentConditions({ levels, containers }: LogFilter): SQL[] {
  const conditions: SQL[] = []
  if (levels) conditions.push(sql`level_mask & ${levels.reduce((mask, level) => mask | (1 << level), 0)} <> 0`)
  if (containers) {
    const hasNamed = sql`containers && ${sql.param(containers.names)}::text[]`
    const hasProcessor = sql`not (containers <@ ${sql.param(nonProcessors)}::text[])`
    conditions.push(containers.allProcessors ? sql`(${hasNamed} or ${hasProcessor})` : hasNamed)
  }
  return conditions
}

/** The same condition as `mightContain` in `bloom.ts`. The column's storage lets Postgres read a single byte of a filter. */
const mightContain = (hash: number): SQL => {
  const bit = hash & 0x7fffffff
  return sql`get_byte(substring(bloom, (${bit}::int & (octet_length(bloom) * 8 - 1)) / 8 + 1, 1), 0) & ${1 << (hash & 7)}::int <> 0`
}
