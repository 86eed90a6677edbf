// Reads tables of other modules: squid_tags, squids. Resolves the tags of a page to versions in one query.

import { sql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import type { Measurements } from '../measuring/availability.ts'

export type PageTag = {
  id: number
  squid: string
  tag: string
  name: string
  addedAtMs: number
  /** Null if the squid has no such tag. */
  squidId: number | null
  desiredState: 'running' | 'hibernated' | 'deleted' | null
  apiReplicas: number | null
}

/** Returns the tags in the order of the page, with the versions that have them now. */
export async function selectPageTags(db: Db, orgId: number): Promise<PageTag[]> {
  const { rows } = await db.execute<PageTag>(sql`
    select t.id, t.squid_name as squid, t.tag, t.name, (extract(epoch from t.added_at) * 1000)::float8 as "addedAtMs",
      s.id as "squidId", s.desired_state as "desiredState", s.api_replicas as "apiReplicas"
    from status_tags t
    left join squid_tags g on g.org_id = t.org_id and g.squid_name = t.squid_name and g.tag = t.tag
    left join squids s on s.id = g.squid_id
    where t.org_id = ${orgId} order by t.position, t.id`)
  return rows
}

export type MeasuredDay = Measurements & { tagId: number; day: string }

/** Returns the measurements of the tags from a UTC day on, such as `2026-11-22`; days without measurements are omitted. */
export async function selectDays(db: Db, tagIds: number[], sinceDay: string): Promise<MeasuredDay[]> {
  const { rows } = await db.execute<MeasuredDay>(sql`
    select tag_id as "tagId", to_char(day, 'YYYY-MM-DD') as day, requests, failures, up_ms as "upMs", down_ms as "downMs",
      hibernated_ms as "hibernatedMs"
    from status_days where tag_id = any(${sql.param(tagIds)}::bigint[]) and day >= ${sinceDay}::date`)
  return rows
}
