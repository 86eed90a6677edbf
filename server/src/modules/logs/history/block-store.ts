import { sql, type SQL } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { hashesOfTerm } from '../bloom.ts'
import { notProcessors } from '../containers.ts'
import type { LogFilter } from '../filter.ts'
import { atMs, timeOf, type Direction, type LinePosition } from '../lines-store.ts'

/** A run of lines that may hold matches. */
export type Candidate = { firstSeq: number; lastSeq: number; minAtMs: number; maxAtMs: number }

export type CandidateQuery = {
  squidId: number
  indexedSeq: number
  fromMs: number | null
  toMs: number | null
  after: LinePosition | null
  filter: LogFilter
  direction: Direction
  /** Blocks that come after this one. */
  beyond: Candidate | null
  limit: number
}

/** The next blocks in the direction of time that may hold matching lines. */
export async function findCandidates(db: Db, asked: CandidateQuery): Promise<Candidate[]> {
  const isDown = asked.direction === 'desc'
  const order = sql.raw(asked.direction)
  const edge = sql.raw(isDown ? 'max_at' : 'min_at')
  const conditions = [
    sql`squid_id = ${asked.squidId}`,
    sql`last_seq <= ${asked.indexedSeq}`,
    ...timeConditions(asked),
    ...contentConditions(asked.filter),
  ]
  if (asked.beyond) {
    const at = timeOf(isDown ? asked.beyond.maxAtMs : asked.beyond.minAtMs)
    conditions.push(sql`(${edge}, first_seq) ${sql.raw(isDown ? '<' : '>')} (${at}, ${asked.beyond.firstSeq})`)
  }
  const held = hashesOfTerm(asked.filter.search ?? '').map(mightContain)
  // "offset 0" keeps the two steps apart: filters are read one after the other in order, and no further than to the limit.
  const { rows } = await db.execute<Candidate>(sql`
    select first_seq as "firstSeq", last_seq as "lastSeq", ${epoch('min_at')} as "minAtMs", ${epoch('max_at')} as "maxAtMs"
    from (
      select * from log_blocks where ${sql.join(conditions, sql` and `)}
      order by ${edge} ${order}, first_seq ${order} offset 0
    ) block
    ${held.length > 0 ? sql`where ${sql.join(held, sql` and `)}` : sql``} limit ${asked.limit}`)
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

/** As `mightContain` of `bloom.ts`. The column is stored so that one byte of it can be read without the rest. */
const mightContain = (hash: number): SQL => {
  const bit = hash & 0x7fffffff
  return sql`get_byte(substring(bloom, (${bit}::int & (octet_length(bloom) * 8 - 1)) / 8 + 1, 1), 0) & ${1 << (hash & 7)}::int <> 0`
}
