// Reads tables of other modules: orgs, squids. Reads every version in one query, without its long columns.

import { sql } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import type { SquidRow } from '../../versions/index.ts'

export type AlertSubjectRow = {
  id: number
  orgId: number
  name: string
  slot: string
  image: string | null
  wanted: 'running' | 'hibernated' | 'deleted'
  lastDeploy: SquidRow['lastDeploy']
  apiReplicas: number
  processors: string[]
}

/** Every version of the organizations that are not deleted, without its long columns. */
export async function listWatchedRows(db: Db): Promise<AlertSubjectRow[]> {
  const { rows } = await db.execute<AlertSubjectRow>(sql`
    select s.id, s.org_id as "orgId", s.name, s.slot, s.image, s.wanted, s.last_deploy as "lastDeploy",
      s.api_replicas as "apiReplicas", s.processors
    from squids s join orgs o on o.id = s.org_id where o.deleted_at is null order by s.id`)
  return rows
}
