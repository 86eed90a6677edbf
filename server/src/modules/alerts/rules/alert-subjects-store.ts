// Reads tables of other modules: orgs, squids. Reads every version in one query, without the columns that may be large.

import { sql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import type { SquidRow } from '../../versions/index.ts'

/** The columns of a version that rules need. */
export type AlertSubjectRow = {
  id: number
  orgId: number
  name: string
  slot: string
  image: string | null
  desiredState: 'running' | 'hibernated' | 'deleted'
  lastDeploy: SquidRow['lastDeploy']
  apiReplicas: number
  hasuraReplicas: number
  processors: string[]
}

/** Returns all versions of organizations that are not deleted. */
export async function listAlertSubjectRows(db: Db): Promise<AlertSubjectRow[]> {
  const { rows } = await db.execute<AlertSubjectRow>(sql`
    select s.id, s.org_id as "orgId", s.name, s.slot, s.image, s.desired_state as "desiredState", s.last_deploy as "lastDeploy",
      s.api_replicas as "apiReplicas", s.hasura_replicas as "hasuraReplicas", s.processors
    from squids s join orgs o on o.id = s.org_id where o.deleted_at is null order by s.id`)
  return rows
}
