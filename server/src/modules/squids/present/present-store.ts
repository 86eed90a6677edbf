// Reads tables of other modules: orgs, roles, squids. Lists of versions are filtered and sorted in one query.

import type { Profile } from '@shoal/contract'
import { DatabaseError } from 'pg'
import { sql, type SQL } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import type { Actor } from '../../call.ts'
import type { SquidRow } from '../../versions/index.ts'

/** The columns of a version that a list needs. Times are in epoch milliseconds: creating a Date for each would slow long lists down. */
export type SummaryRow = {
  id: number
  orgId: number
  name: string
  slot: string
  image: string | null
  desiredState: 'running' | 'hibernated' | 'deleted'
  apiReplicas: number
  apiProfile: Profile | null
  hasuraReplicas: number
  hasuraProfile: Profile | null
  processorProfile: Profile | null
  processors: string[]
  isDedicated: boolean
  lastDeploy: SquidRow['lastDeploy']
  createdAtMs: number
  deployedAtMs: number | null
  hibernatedAtMs: number | null
}

/** All columns of a version that the API returns. */
export type PresentedRow = SummaryRow & {
  description: string | null
  manifestRaw: string
  manifestCurrent: Record<string, unknown>
  packageJson: Record<string, unknown>
  secretNames: string[]
  secretsReadAtMs: number | null
}

/** SQL for epoch milliseconds as an integer. Uses `date_part`, because `extract` computes with numerics, which is slow. */
const epochMs = (column: string) => `round(date_part('epoch', ${column}) * 1000)::bigint`

const summaryColumns = sql.raw(`s.id, s.org_id as "orgId", s.name, s.slot, s.image, s.desired_state as "desiredState",
  s.api_replicas as "apiReplicas", s.api_profile as "apiProfile", s.processor_profile as "processorProfile",
  s.hasura_replicas as "hasuraReplicas", s.hasura_profile as "hasuraProfile",
  s.processors, s.is_dedicated as "isDedicated", s.last_deploy as "lastDeploy",
  ${epochMs('s.created_at')} as "createdAtMs", ${epochMs('s.deployed_at')} as "deployedAtMs", ${epochMs('s.hibernated_at')} as "hibernatedAtMs"`)

const rowColumns = sql`${summaryColumns}, ${sql.raw(`s.description, s.manifest_raw as "manifestRaw",
  s.manifest_current as "manifestCurrent", s.package_json as "packageJson", s.secret_names as "secretNames",
  ${epochMs('s.secrets_read_at')} as "secretsReadAtMs"`)}`

/** Returns the version with this id; null if there is none. */
export async function selectPresented(db: Db, squidId: number): Promise<PresentedRow | null> {
  const { rows } = await db.execute<PresentedRow>(sql`select ${rowColumns} from squids s where s.id = ${squidId}`)
  return rows[0] ?? null
}

/** `name`: the exact name of the squid. `search`: a pattern; see `listPresented`. */
export type SquidFilter = { name?: string | undefined; search?: string | undefined }

/**
 * Returns versions of an organization, sorted by name, newest first. `search` is a case-insensitive pattern for `name@slot` (spec
 * 2.7); an invalid pattern is searched for literally, as in the console. Postgres matches the pattern, because JavaScript's
 * engine would need minutes for some patterns.
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

/** Returns versions of an organization, all or those with these ids, in the order of `listPresented`. */
export async function listSummaryRows(
  db: Db,
  { orgId, ids }: { orgId: number; ids?: number[] | undefined },
): Promise<SummaryRow[]> {
  const idFilter = ids ? sql`and s.id = any(${sql.param(ids)}::bigint[])` : sql``
  const { rows } = await db.execute<SummaryRow>(
    sql`select ${summaryColumns} from squids s where s.org_id = ${orgId} ${idFilter} order by s.name, s.id desc`,
  )
  return rows
}

type RowWithOrg = PresentedRow & { orgCode: string; orgName: string | null }

/** Returns the versions in all organizations of a user, or only in the organization of the API token if that has one. */
export async function listPresentedOfUser(
  db: Db,
  { userId, tokenOrgId }: Pick<Actor, 'userId' | 'tokenOrgId'>,
  name: string | undefined,
): Promise<RowWithOrg[]> {
  const { rows } = await db.execute<RowWithOrg>(sql`
    select ${rowColumns}, o.code as "orgCode", o.name as "orgName"
    from squids s join orgs o on o.id = s.org_id join roles r on r.org_id = o.id
    where r.user_id = ${userId} and o.deleted_at is null
      ${tokenOrgId === null ? sql`` : sql`and o.id = ${tokenOrgId}`} ${name ? sql`and s.name = ${name}` : sql``}
    order by o.code, s.name, s.id desc`)
  return rows
}
