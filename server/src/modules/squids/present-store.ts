import type { Profile } from '@shoal/contract'
import { sql, type SQL } from 'drizzle-orm'
import { DatabaseError } from 'pg'
import type { Db } from '../../db/database.ts'
import type { BlockRate } from '../rpc/index.ts'
import type { ObservedHead } from './freshness.ts'
import type { LastDeploy } from './tables.ts'

/** What a version's own row says in a list. Times are in epoch milliseconds: a list makes thousands of them. */
export type SummaryRow = {
  id: number
  orgId: number
  name: string
  slot: string
  image: string | null
  wanted: 'running' | 'hibernated' | 'deleted'
  apiReplicas: number
  apiProfile: Profile | null
  processorProfile: Profile | null
  processors: string[]
  isDedicated: boolean
  lastDeploy: LastDeploy | null
  deployedAtMs: number | null
  hibernatedAtMs: number | null
}

/** All that it says to people. */
export type PresentedRow = SummaryRow & {
  description: string | null
  manifestRaw: string
  manifestCurrent: Record<string, unknown>
  packageJson: Record<string, unknown>
  secretNames: string[]
  secretsReadAtMs: number | null
  createdAtMs: number
}

export type ObservedContainer = {
  squidId: number
  container: string
  state: 'starting' | 'running' | 'finished' | 'backoff' | 'failed'
  sinceMs: number
  restarts: number
  crashesInARow: number
  exitCode: number | null
  isOutOfMemory: boolean
  reason: string | null
  /** Of a processor that hears nothing from its data source: a sentence that names it as far as it is known. */
  source: string | null
}

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
  unansweredSinceMs: number | null
  headPace: BlockRate
  /** When it was last seen at its head; null: never. */
  caughtUpAtMs: number | null
  stillMs: number
  followsHead: boolean
  /** When its RPC node last answered it; null where it counts no requests. */
  answeredAtMs: number | null
  answerPace: BlockRate
  head: ObservedHead | null
}

export type ObservedApi = {
  squidId: number
  container: string
  isAvailable: boolean
  sinceMs: number
  reason: string | null
}

export type ObservedDatabase = {
  squidId: number
  version: string
  profile: Profile
  usedBytes: number | null
  totalBytes: number
}

/** Whole epoch milliseconds; `extract` would make them of numerics, which is slow. */
const ms = (column: string) => `round(date_part('epoch', ${column}) * 1000)::bigint`

const summaryColumns = sql.raw(`s.id, s.org_id as "orgId", s.name, s.slot, s.image, s.wanted,
  s.api_replicas as "apiReplicas", s.api_profile as "apiProfile", s.processor_profile as "processorProfile",
  s.processors, s.is_dedicated as "isDedicated", s.last_deploy as "lastDeploy",
  ${ms('s.deployed_at')} as "deployedAtMs", ${ms('s.hibernated_at')} as "hibernatedAtMs"`)

const rowColumns = sql`${summaryColumns}, ${sql.raw(`s.description, s.manifest_raw as "manifestRaw",
  s.manifest_current as "manifestCurrent", s.package_json as "packageJson", s.secret_names as "secretNames",
  ${ms('s.secrets_read_at')} as "secretsReadAtMs", ${ms('s.created_at')} as "createdAtMs"`)}`

export async function selectPresented(db: Db, squidId: number): Promise<PresentedRow | null> {
  const { rows } = await db.execute<PresentedRow>(sql`select ${rowColumns} from squids s where s.id = ${squidId}`)
  return rows[0] ?? null
}

export type SquidFilter = { name?: string | undefined; search?: string | undefined }

/**
 * Versions of an organization, by name and newest first. `search` is a pattern of `name@slot`, in any case (spec 2.7); what is no
 * valid one is looked for as it stands, as the console does. Postgres matches it, whose patterns cannot run away as those of
 * JavaScript can.
 */
export async function listPresented(db: Db, orgId: number, { name, search }: SquidFilter): Promise<PresentedRow[]> {
  if (!search) return await selectVersions(db, orgId, name)
  try {
    return await selectVersions(db, orgId, name, sql`s.name || '@' || s.slot ~* ${search}`)
  } catch (error) {
    if (!isInvalidPattern(error)) throw error
    return await selectVersions(db, orgId, name, sql`strpos(lower(s.name || '@' || s.slot), lower(${search})) > 0`)
  }
}

const isInvalidPattern = (error: unknown) =>
  error instanceof Error && error.cause instanceof DatabaseError && error.cause.code === '2201B'

async function selectVersions(db: Db, orgId: number, name?: string, search?: SQL): Promise<PresentedRow[]> {
  const conditions = [sql`s.org_id = ${orgId}`]
  if (name) conditions.push(sql`s.name = ${name}`)
  if (search) conditions.push(search)
  const { rows } = await db.execute<PresentedRow>(
    sql`select ${rowColumns} from squids s where ${sql.join(conditions, sql` and `)} order by s.name, s.id desc`,
  )
  return rows
}

/** The same in brief. */
export async function listSummaryRows(db: Db, which: OrgSelector): Promise<SummaryRow[]> {
  const { rows } = await db.execute<SummaryRow>(
    sql`select ${summaryColumns} from squids s where ${isOneOf(which)} order by s.name, s.id desc`,
  )
  return rows
}

type OfOrg = PresentedRow & { orgCode: string; orgName: string | null }

/** Versions in all organizations of a person. */
export async function listPresentedOf(db: Db, userId: number, name: string | undefined): Promise<OfOrg[]> {
  const { rows } = await db.execute<OfOrg>(sql`
    select ${rowColumns}, o.code as "orgCode", o.name as "orgName"
    from squids s join orgs o on o.id = s.org_id join roles r on r.org_id = o.id
    where r.user_id = ${userId} and o.deleted_at is null ${name ? sql`and s.name = ${name}` : sql``}
    order by o.code, s.name, s.id desc`)
  return rows
}

export type SquidRelations = {
  tags: { squidId: number; tag: string }[]
  databases: ObservedDatabase[]
  containers: ObservedContainer[]
  processors: ObservedProcessor[]
  apis: ObservedApi[]
}

/** All versions of an organization, or those of them with these ids. */
type OrgSelector = { orgId: number; ids?: number[] | undefined }
export type SquidSelector = { squidIds: number[] } | OrgSelector

function isOneOf(which: SquidSelector): SQL {
  const hasId = (ids: number[]) => sql`s.id = any(${sql.param(ids)}::bigint[])`
  if ('squidIds' in which) return hasId(which.squidIds)
  const isOfOrg = sql`s.org_id = ${which.orgId}`
  return which.ids ? sql`${isOfOrg} and ${hasId(which.ids)}` : isOfOrg
}

/** What stands in other tables about versions; observations only of the generation that serves. */
export async function selectParts(db: Db, which: SquidSelector): Promise<SquidRelations> {
  const isOne = isOneOf(which)
  const list = async <R extends Record<string, unknown>>(query: SQL) => (await db.execute<R>(query)).rows
  const [tags, databases, containers, processors, apis] = await Promise.all([
    list<SquidRelations['tags'][number]>(
      sql`select squid_id as "squidId", tag from squid_tags t join squids s on s.id = t.squid_id where ${isOne} order by tag`,
    ),
    list<ObservedDatabase>(sql`
      select squid_id as "squidId", version, profile, used_bytes as "usedBytes", total_bytes as "totalBytes"
      from squid_databases t join squids s on s.id = t.squid_id where ${isOne}`),
    selectContainers(db, which),
    selectProcessors(db, which),
    list<ObservedApi>(
      ofServingGeneration(
        which,
        'api_states',
        `container, is_available as "isAvailable", ${ms('t.since')} as "sinceMs", reason`,
      ),
    ),
  ])
  return { tags, databases, containers, processors, apis }
}

/** Of an organization only those of its processors: a list shows nothing of other programs, and apis are known by their answers. */
export async function selectContainers(db: Db, which: SquidSelector): Promise<ObservedContainer[]> {
  const { rows } = await db.execute<ObservedContainer>(
    ofServingGeneration(
      which,
      'container_states',
      `container, state, ${ms('since')} as "sinceMs", restarts, crashes_in_a_row as "crashesInARow", exit_code as "exitCode",
       is_out_of_memory as "isOutOfMemory", reason, (select p.sentence from processor_sources p where p.squid_id = t.squid_id
       and p.generation = t.generation and p.processor = t.container) as source`,
      'orgId' in which ? sql`and s.processors ? container` : sql``,
    ),
  )
  return rows
}

/** With the heads of their chains. */
export async function selectProcessors(db: Db, which: SquidSelector): Promise<ObservedProcessor[]> {
  const [progress, heads] = await Promise.all([
    db.execute<Omit<ObservedProcessor, 'head'> & { chain: string | null }>(
      ofServingGeneration(
        which,
        'processor_states',
        `processor, current_block as "currentBlock", total_blocks as "totalBlocks", blocks_per_second as "blocksPerSecond",
         eta_seconds as "etaSeconds", ${ms('progressed_at')} as "progressedAtMs", ${ms('head_moved_at')} as "headMovedAtMs",
         ${ms('scraped_at')} as "scrapedAtMs", ${ms('unanswered_since')} as "unansweredSinceMs", head_pace as "headPace",
         ${ms('caught_up_at')} as "caughtUpAtMs", still_ms as "stillMs", follows_head as "followsHead",
         ${ms('answered_at')} as "answeredAtMs", answer_pace as "answerPace", t.chain`,
      ),
    ),
    // Few chains have many processors: each is read once.
    db.execute<ObservedHead & { chain: string }>(sql`
      select chain, head_block as "headBlock", final_block as "finalBlock", ${sql.raw(ms('moved_at'))} as "movedAtMs", pace,
        ${sql.raw(ms('observed_at'))} as "observedAtMs" from chain_heads`),
  ])
  const headOf = new Map(heads.rows.map(({ chain, ...head }) => [chain, head]))
  return progress.rows.map((row) => ({ ...row, head: headOf.get(row.chain ?? '') ?? null }))
}

const ofServingGeneration = (which: SquidSelector, table: string, columns: string, and = sql``): SQL => sql`
  select t.squid_id as "squidId", ${sql.raw(columns)} from ${sql.raw(table)} t
  join squids s on s.id = t.squid_id and s.generation = t.generation where ${isOneOf(which)} ${and}`
