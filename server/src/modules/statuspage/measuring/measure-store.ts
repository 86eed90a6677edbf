// Reads tables of other modules: api_states, ingress_minutes, squid_tags, squids. Reads all tags and their requests in one query each.

import { dayOf } from '../../../clock.ts'
import { sql, timestampSql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'

/** A tag on an enabled page, with the version that has the tag now. */
export type MeasuredTag = {
  id: number
  orgId: number
  measuredUntilMs: number
  /** Null if the squid has no such tag. */
  squidId: number | null
  desiredState: 'running' | 'hibernated' | 'deleted' | null
  /** Whether at least one api of the serving generation is healthy; null if none was probed. */
  isUp: boolean | null
}

export type DayPart = { tagId: number; day: string; upMs: number; downMs: number; hibernatedMs: number }

/** SQL for the version that has the tag `t`. LIMIT makes Postgres search the index for each tag, instead of reading the tags of all squids. */
const versionOfTag = sql`select squid_id from squid_tags
  where org_id = t.org_id and squid_name = t.squid_name and tag = t.tag limit 1`

/** Locks the tags of all enabled pages until the transaction ends, so that two leaders cannot measure the same time twice. */
export async function lockMeasuredTags(tx: Db): Promise<MeasuredTag[]> {
  const { rows } = await tx.execute<MeasuredTag>(sql`
    select t.id, t.org_id as "orgId", (extract(epoch from t.measured_until) * 1000)::float8 as "measuredUntilMs",
      s.id as "squidId", s.desired_state as "desiredState",
      (select bool_or(a.is_available) from api_states a where a.squid_id = s.id and a.generation = s.generation) as "isUp"
    from status_tags t
    join status_pages p on p.org_id = t.org_id and p.is_enabled
    left join lateral (${versionOfTag}) g on true
    left join squids s on s.id = g.squid_id
    order by t.id for no key update of t`)
  return rows
}

/** Adds measured times to the days, and records `untilMs` as the time up to which the tags are measured. */
export async function addMeasured(tx: Db, parts: DayPart[], tagIds: number[], untilMs: number): Promise<void> {
  if (tagIds.length === 0) return
  await tx.execute(sql`
    insert into status_days as d (tag_id, day, up_ms, down_ms, hibernated_ms)
    select "tagId", day, "upMs", "downMs", "hibernatedMs" from jsonb_to_recordset(${JSON.stringify(parts)}::jsonb)
      as r ("tagId" bigint, day date, "upMs" bigint, "downMs" bigint, "hibernatedMs" bigint)
    on conflict (tag_id, day) do update set up_ms = d.up_ms + excluded.up_ms, down_ms = d.down_ms + excluded.down_ms,
      hibernated_ms = d.hibernated_ms + excluded.hibernated_ms`)
  await tx.execute(sql`
    update status_tags set measured_until = ${timestampSql(untilMs)}
    where id = any(${sql.param(tagIds)}::bigint[])`)
}

/**
 * Adds requests to the days: those of the version that has the tag now, in all minutes before `untilMs` that are not counted yet.
 * The tags must be locked.
 */
export async function addRequests(tx: Db, tagIds: number[], untilMs: number): Promise<void> {
  if (tagIds.length === 0) return
  // LATERAL makes Postgres read only the minutes of each tag that are not counted yet, instead of all before `untilMs`.
  await tx.execute(sql`
    insert into status_days as d (tag_id, day, requests, failures)
    select t.id, i.day, i.requests, i.failures from status_tags t
    cross join lateral (${versionOfTag}) g
    cross join lateral (
      select (at at time zone 'UTC')::date as day, sum(successes + errors) as requests, sum(failures) as failures from ingress_minutes
      where squid_id = g.squid_id and at >= t.counted_until and at < ${timestampSql(untilMs)} group by 1
    ) i
    where t.id = any(${sql.param(tagIds)}::bigint[])
    on conflict (tag_id, day) do update set requests = d.requests + excluded.requests, failures = d.failures + excluded.failures`)
  await tx.execute(sql`
    update status_tags set counted_until = greatest(counted_until, ${timestampSql(untilMs)})
    where id = any(${sql.param(tagIds)}::bigint[])`)
}

/** Deletes the days before the UTC day of `at`. Returns the number of deleted rows. */
export async function deleteStatusDaysBefore(db: Db, at: Date): Promise<number> {
  const { rowCount } = await db.execute(sql`delete from status_days where day < ${dayOf(at.getTime())}::date`)
  return rowCount ?? 0
}
