// Reads tables of other modules: orgs, squids. Lists the versions that a move of the installation stops and starts, and their images.

import { sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'

/** Returns the deployments in progress, as `organization/name@slot (deployment 7)`. */
export async function listInProgress(db: Db): Promise<string[]> {
  const { rows } = await db.execute<{ name: string }>(sql`
    select o.code || '/' || d.squid_name || '@' || d.squid_slot || ' (deployment ' || d.id || ')' as name
    from deployments d join orgs o on o.id = d.org_id where d.finished_at is null order by d.id`)
  return rows.map(({ name }) => name)
}

/** A version with programs that should run. */
export type RunningVersion = {
  id: number
  orgId: number
  name: string
  slot: string
  image: string | null
  usesHasura: boolean
}

/**
 * Returns the versions whose programs should run. `movedPrefix`: the prefix of the request keys of restarts after moves. If such a restart failed and
 * was the last deployment, the version has no workload, but should run. A failed hard reset also leaves no workload, and then no program
 * should run.
 */
export async function listRunning(db: Db, movedPrefix: string): Promise<RunningVersion[]> {
  const { rows } = await db.execute<RunningVersion>(sql`
    select id, org_id as "orgId", name, slot, image, hasura_replicas > 0 as "usesHasura"
    from squids s where desired_state = 'running' and (sealed_workload is not null or image is not null and (
      select d.type = 'RESTART' and d.failed <> 'NO' and starts_with(d.request_key, ${movedPrefix})
      from deployments d where d.squid_id = s.id order by d.id desc limit 1)) order by id`)
  return rows
}

/** Counts the restarts with this prefix of their request key: those in progress, and those that failed. */
export async function countRestarts(
  db: Db,
  prefix: string,
): Promise<{ all: number; unfinished: number; failed: number }> {
  const { rows } = await db.execute<{ all: number; unfinished: number; failed: number }>(sql`
    select count(*)::int as all, (count(*) filter (where finished_at is null))::int as unfinished,
      (count(*) filter (where failed <> 'NO'))::int as failed
    from deployments where starts_with(request_key, ${prefix})`)
  return rows[0] ?? { all: 0, unfinished: 0, failed: 0 }
}

/** An image that a version runs or keeps, and its organization. */
export type UsedImage = { image: string; orgId: number; bytes: number; versions: string[]; isRunning: boolean }

/** Returns the images that versions run or keep for rollbacks. `versions`: as `organization/name@slot`; `isRunning`: the last deployed image of one. */
export async function listUsedImages(db: Db): Promise<UsedImage[]> {
  const { rows } = await db.execute<UsedImage>(sql`
    select u.image, s.org_id as "orgId", coalesce(max(i.bytes), 0)::int8 as bytes,
      array_agg(distinct o.code || '/' || s.name || '@' || s.slot) as versions, bool_or(u.image = s.image) as "isRunning"
    from (select id as squid_id, image from squids where image is not null
          union select squid_id, image from squid_images) u
    join squids s on s.id = u.squid_id join orgs o on o.id = s.org_id left join images i on i.image = u.image
    where s.desired_state <> 'deleted'
    group by u.image, s.org_id order by 1`)
  return rows
}
