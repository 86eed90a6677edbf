// Reads tables of other modules: chain_heads, squid_databases, squid_tags, squids. Reads everything about many versions in a fixed number of queries.

import type { Profile } from '@shoal/contract'
import { idArray, sql, type SQL } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import type { BlockRate } from '../../chains/index.ts'
import type { ObservedHead } from './freshness.ts'

/** The last observed state of a container; see `container_states`. */
export type ObservedContainer = {
  squidId: number
  container: string
  state: 'starting' | 'running' | 'finished' | 'backoff' | 'failed'
  sinceMs: number
  restarts: number
  crashesInARow: number
  exitCode: number | null
  isOutOfMemory: boolean
  /** Null if the program has disk space left for its files. */
  diskFullSinceMs: number | null
  reason: string | null
  /** Describes, in a sentence, a processor's data source that does not respond; null for all other containers. */
  source: string | null
}

/** The last metrics of a processor; see `processor_states`. */
export type ObservedProcessor = {
  squidId: number
  processor: string
  currentBlock: number
  totalBlocks: number
  blocksPerSecond: number | null
  etaSeconds: number | null
  progressedAtMs: number | null
  headMovedAtMs: number | null
  scrapedAtMs: number
  /** Since when the processor has not responded although its program is running; null if it responds. */
  unresponsiveSinceMs: number | null
  headRate: BlockRate
  /** When the processor's own metrics last reported that it had caught up; null if they never did. */
  caughtUpAtMs: number | null
  stalledMs: number
  followsHead: boolean
  /** When the processor's RPC node last responded; null if its metrics do not count requests. */
  nodeRespondedAtMs: number | null
  /** The usual interval between responses of the node: each response counts as a move of one block. */
  nodeResponseRate: BlockRate
  head: ObservedHead | null
}

/** A replica of an api or of Hasura. */
export type ObservedApi = {
  squidId: number
  container: string
  isAvailable: boolean
  sinceMs: number
  reason: string | null
}

/** The database of a version. `usedBytes` is null until the size is measured. */
export type ObservedDatabase = {
  squidId: number
  /** The major version of Postgres. */
  version: string
  profile: Profile
  usedBytes: number | null
  totalBytes: number
}

/** The rows of `VersionDetails` for all selected versions. */
export type DetailRows = {
  tags: { squidId: number; tag: string }[]
  databases: ObservedDatabase[]
  containers: ObservedContainer[]
  processors: ObservedProcessor[]
  apis: ObservedApi[]
}

/** The versions of an organization: all, or those with these ids. */
type OrgSelector = { orgId: number; ids?: number[] | undefined }
/** Selects versions by their ids or by their organization, or all. */
export type SquidSelector = { squidIds: number[] } | OrgSelector | 'all'

/** SQL for a time as integer epoch milliseconds. Uses `date_part`, since `extract` computes with numerics, which is slow. */
const epochMs = (column: string) => `round(date_part('epoch', ${column}) * 1000)::bigint`

/** SQL that selects rows of a table `t` that is joined with the squids `s`. */
function matchesSelector(selector: SquidSelector): SQL {
  if (selector === 'all') return sql`true`
  const hasId = (ids: number[]) => sql`t.squid_id = any(${idArray(ids)})`
  if ('squidIds' in selector) return hasId(selector.squidIds)
  return selector.ids
    ? sql`s.org_id = ${selector.orgId} and ${hasId(selector.ids)}`
    : sql`t.squid_id = any(array(select id from squids where org_id = ${selector.orgId}))`
}

/** Reads the tags, databases and observations of versions. Observations are those of the serving generation. */
export async function selectDetails(db: Db, selector: SquidSelector): Promise<DetailRows> {
  const condition = matchesSelector(selector)
  const list = async <R extends Record<string, unknown>>(query: SQL) => (await db.execute<R>(query)).rows
  const [tags, databases, containers, processors, apis] = await Promise.all([
    list<DetailRows['tags'][number]>(
      sql`select squid_id as "squidId", tag from squid_tags t join squids s on s.id = t.squid_id where ${condition} order by tag`,
    ),
    list<ObservedDatabase>(sql`
      select squid_id as "squidId", version, profile, used_bytes as "usedBytes", total_bytes as "totalBytes"
      from squid_databases t join squids s on s.id = t.squid_id where ${condition}`),
    selectContainers(db, selector),
    selectProcessors(db, selector),
    list<ObservedApi>(
      ofServingGeneration(
        selector,
        'api_states',
        `container, is_available as "isAvailable", ${epochMs('t.since')} as "sinceMs", reason`,
      ),
    ),
  ])
  return { tags, databases, containers, processors, apis }
}

/**
 * Returns the containers of the versions. If the selector is an organization, returns only containers of processors: lists show no
 * others, and the status of apis comes from probes.
 */
export async function selectContainers(db: Db, selector: SquidSelector): Promise<ObservedContainer[]> {
  const { rows } = await db.execute<ObservedContainer>(
    ofServingGeneration(
      selector,
      'container_states',
      `container, state, ${epochMs('since')} as "sinceMs", restarts, crashes_in_a_row as "crashesInARow", exit_code as "exitCode",
       is_out_of_memory as "isOutOfMemory", ${epochMs('disk_full_since')} as "diskFullSinceMs", reason, p.sentence as source`,
      {
        join: sql`left join processor_sources p on p.squid_id = t.squid_id and p.generation = t.generation and p.processor = t.container`,
        condition: selector !== 'all' && 'orgId' in selector ? sql`and s.processors ? container` : sql``,
      },
    ),
  )
  return rows
}

/** Returns the processors of the versions, with the independent heads of their chains. */
export async function selectProcessors(db: Db, selector: SquidSelector): Promise<ObservedProcessor[]> {
  const [progress, heads] = await Promise.all([
    db.execute<Omit<ObservedProcessor, 'head'> & { chain: string | null }>(
      ofServingGeneration(
        selector,
        'processor_states',
        `processor, current_block as "currentBlock", total_blocks as "totalBlocks", blocks_per_second as "blocksPerSecond",
         eta_seconds as "etaSeconds", ${epochMs('progressed_at')} as "progressedAtMs", ${epochMs('head_moved_at')} as "headMovedAtMs",
         ${epochMs('scraped_at')} as "scrapedAtMs", ${epochMs('unanswered_since')} as "unresponsiveSinceMs", head_rate as "headRate",
         ${epochMs('caught_up_at')} as "caughtUpAtMs", stalled_ms as "stalledMs", follows_head as "followsHead",
         ${epochMs('answered_at')} as "nodeRespondedAtMs", response_rate as "nodeResponseRate", t.chain`,
      ),
    ),
    // Reads each head once per chain, not per processor, since there are few chains and many processors.
    db.execute<ObservedHead & { chain: string }>(sql`
      select chain, head_block as "headBlock", final_block as "finalBlock", ${sql.raw(epochMs('moved_at'))} as "movedAtMs", block_rate as "blockRate",
        ${sql.raw(epochMs('observed_at'))} as "observedAtMs" from chain_heads`),
  ])
  const headOf = new Map(heads.rows.map(({ chain, ...head }) => [chain, head]))
  return progress.rows.map((row) => ({ ...row, head: headOf.get(row.chain ?? '') ?? null }))
}

const ofServingGeneration = (
  selector: SquidSelector,
  table: string,
  columns: string,
  extra = { join: sql``, condition: sql`` },
): SQL => sql`
  select t.squid_id as "squidId", ${sql.raw(columns)} from ${sql.raw(table)} t
  join squids s on s.id = t.squid_id and s.generation = t.generation ${extra.join} where ${matchesSelector(selector)} ${extra.condition}`
