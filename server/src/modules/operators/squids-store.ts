// Reads tables of other modules: orgs, roles, squids, users. Operators list the versions of all organizations with their owners.

import type { Db } from '../../db/database.ts'
import { sql } from '../../db/sql.ts'
import type { SquidRow } from '../versions/index.ts'

export type SquidListRow = Pick<SquidRow, 'id' | 'orgId' | 'name' | 'slot' | 'desiredState' | 'lastDeploy'> & {
  orgCode: string
  orgName: string | null
  isPlayground: boolean
  deployedMs: number | null
}

/** Returns all versions whose `name@slot` or organization's code contains `search`; all if `search` is empty. */
export async function listSquidRows(db: Db, search: string): Promise<SquidListRow[]> {
  const text = search.toLowerCase()
  const isFound = text === '' ? sql`true` : sql`position(${text} in s.name || '@' || s.slot || ' ' || o.code) > 0`
  const { rows } = await db.execute<SquidListRow>(sql`
    select s.id, s.org_id as "orgId", s.name, s.slot, s.desired_state as "desiredState", s.last_deploy as "lastDeploy",
      o.code as "orgCode", o.name as "orgName", o.is_playground as "isPlayground",
      (extract(epoch from s.deployed_at) * 1000)::float8 as "deployedMs"
    from squids s join orgs o on o.id = s.org_id where ${isFound}`)
  return rows
}

/** Returns the email of the administrator of each organization who joined first. */
export async function listFirstAdmins(db: Db, orgIds: number[]): Promise<Map<number, string>> {
  if (orgIds.length === 0) return new Map()
  const { rows } = await db.execute<{ orgId: number; email: string }>(sql`
    select distinct on (r.org_id) r.org_id as "orgId", u.email from roles r join users u on u.id = r.user_id
    where r.org_id = any(${sql.param(orgIds)}::bigint[]) and r.type = 'admin' order by r.org_id, r.id`)
  return new Map(rows.map(({ orgId, email }) => [orgId, email]))
}
