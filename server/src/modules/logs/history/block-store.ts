import { sql, type SQL } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { hashesOfTerm } from '../bloom.ts'
import { notProcessors } from '../containers.ts'
import type { LogFilter } from '../filter.ts'
import { atMs, timeOf, type Direction, type LinePosition } from '../lines-store.ts'

/** A block of lines that may contain matches. */
export type Candidate = { firstSeq: number; lastSeq: number; minAtMs: number; maxAtMs: number }

export type CandidateQuery = {
  squidId: number
  indexedSeq: number
  fromMs: number | null
  toMs: number | null
  after: LinePosition | null
  filter: LogFilter
  direction: Direction
  /** Only blocks after this one. */
  beyond: Candidate | null
  limit: number
}

/** The next blocks, in the direction of time, that may contain matching lines. */
export async function findCandidates(db: Db, query: CandidateQuery): Promise<Candidate[]> {
  const isDown = query.direction === 'desc'
  const order = sql.raw(query.direction)
  const edge = sql.raw(isDown ? 'max_at' : 'min_at')
  const conditions = [
    sql`squid_id = ${query.squidId}`,
    sql`last_seq <= ${query.indexedSeq}`,
    ...timeConditions(query),
    ...contentConditions(query.filter),
  ]
  if (query.beyond) {
    const at = timeOf(isDown ? query.beyond.maxAtMs : query.beyond.minAtMs)
    conditions.push(sql`(${edge}, first_seq) ${sql.raw(isDown ? '<' : '>')} (${at}, ${query.beyond.firstSeq})`)
  }
  const gramConditions = hashesOfTerm(query.filter.search ?? '').map(mightContain)
  // "offset 0" keeps the two steps apart: filters are read one by one in order, and no more than the limit needs.
  const { rows } = await db.execute<Candidate>(sql`
    select first_seq as "firstSeq", last_seq as "lastSeq", ${epoch('min_at')} as "minAtMs", ${epoch('max_at')} as "maxAtMs"
    from (
      select * from log_blocks where ${sql.join(conditions, sql` and `)}
      order by ${edge} ${order}, first_seq ${order} offset 0
    ) block
    ${gramConditions.length > 0 ? sql`where ${sql.join(gramConditions, sql` and `)}` : sql``} limit ${query.limit}`)
  return rows
}

const epoch = (column: string) => sql.raw(atMs.replace('at', column))

function timeConditions({ fromMs, toMs, after, direction }: CandidateQuery): SQL[] {
  const conditions: SQL[] = []
  if (fromMs !== null) conditions.push(sql`max_at >= ${timeOf(fromMs)}`)
  if (toMs !== null) conditions.push(sql`min_at <= ${timeOf(toMs)}`)
  if (after && direction === 'desc') conditions.push(sql`min_at <= ${timeOf(after.atMs)}`)
  if (after && direction === 'asc') conditions.push(sql`max_at >= ${timeOf(after.atMs)}`)
  return conditions
}

function contentConditions({ levels, containers }: LogFilter): SQL[] {
  const conditions: SQL[] = []
  if (levels) conditions.push(sql`level_mask & ${levels.reduce((mask, level) => mask | (1 << level), 0)} <> 0`)
  if (containers) {
    const named = sql`containers && ${sql.param(containers.names)}::text[]`
    const processor = sql`not (containers <@ ${sql.param(notProcessors)}::text[])`
    conditions.push(containers.allProcessors ? sql`(${named} or ${processor})` : named)
  }
  return conditions
}

/** Same as `mightContain` of `bloom.ts`. The column is stored such that one byte can be read without the rest. */
const mightContain = (hash: number): SQL => {
  const bit = hash & 0x7fffffff
  return sql`get_byte(substring(bloom, (${bit}::int & (octet_length(bloom) * 8 - 1)) / 8 + 1, 1), 0) & ${1 << (hash & 7)}::int <> 0`
}
