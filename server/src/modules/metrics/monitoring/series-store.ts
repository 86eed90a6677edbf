// Reads tables of other modules: squid_tags, squids. Labels series with the names of versions.

import type { MonitoringQuery } from '@shoal/contract'
import { sql, timestampSql, type SQL } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { levelMs, tableOf } from '../levels.ts'
import type { BucketSize } from './step.ts'

/** The values of one container, unordered, with the start times of their buckets in seconds. */
export type Series = { squidId: number; container: string; times: number[]; values: (number | null)[] }

/** Functions that return SQL to aggregate the rows of one bucket of a chart. `singleRow` is for charts with one row per bucket. */
type BucketAggregates = { sum: (column: SQL) => SQL; max: (column: SQL) => SQL; newest: (column: SQL) => SQL }
const singleRow: BucketAggregates = { sum: (column) => column, max: (column) => column, newest: (column) => column }
const bucketAggregates: BucketAggregates = {
  sum: (column) => sql`sum(${column})`,
  max: (column) => sql`max(${column})`,
  newest: (column) =>
    sql`(max(array[date_part('epoch', at), ${column}::float8]) filter (where ${column} is not null))[2]`,
}

/** Caps a percentage. `least` ignores nulls, so it would turn an unknown value into 100. */
const atMost100 = (percent: SQL) => sql`(case when ${percent} > 100 then 100 else ${percent} end)::real`

/** SQL for the value of a bucket; null if unknown. Percentages are cast to `real`, which halves the size of the response. */
const seriesExpressions: Record<MonitoringQuery, (of: BucketAggregates) => SQL> = {
  cpu_utilization: ({ sum }) => sql`(100 * ${sum(sql`cpu_seconds`)} / nullif(${sum(sql`cpu_limit_seconds`)}, 0))::real`,
  cpu_trotting: ({ sum }) =>
    atMost100(sql`100 * ${sum(sql`throttled_seconds`)} / nullif(${sum(sql`observed_seconds`)}, 0)`),
  mem_utilization: ({ max }) =>
    sql`(100.0::float8 * ${max(sql`memory_peak_bytes`)} / nullif(${max(sql`memory_limit_bytes`)}, 0))::real`,
  disk_utilization: ({ max }) =>
    sql`(100.0::float8 * ${max(sql`disk_used_bytes`)} / nullif(${max(sql`disk_total_bytes`)}, 0))::real`,
  crashes: ({ sum }) => sql`${sum(sql`crashes`)}::float8`,
  oom_kills: ({ sum }) => sql`${sum(sql`oom_kills`)}::float8`,
  indexed_blocks: ({ sum }) => sql`${sum(sql`blocks`)}::float8`,
  indexed_height: ({ newest }) => sql`${newest(sql`last_block`)}::float8`,
}

/** Returns the values of each container that has any in the range, by bucket. */
export async function selectSeries(
  db: Db,
  orgId: number,
  query: MonitoringQuery,
  { fromMs, toMs, step }: { fromMs: number; toMs: number; step: BucketSize },
): Promise<Series[]> {
  // Without grouping, reading a month of a thousand versions takes half the time.
  const hasSingleRows = step.ms === levelMs[step.level]
  // Buckets are numbered from 1970. date_part is by far the fastest function for this.
  const { rows } = await db.execute<{
    squidId: number
    container: string
    buckets: number[]
    values: (number | null)[]
  }>(
    sql`select squid_id as "squidId", container, to_json(array_agg(bin)) as buckets, to_json(array_agg(v)) as values from (
          select squid_id, container, floor(date_part('epoch', at) / ${step.ms / 1000}::float8)::int as bin,
            ${seriesExpressions[query](hasSingleRows ? singleRow : bucketAggregates)} as v
          from ${sql.identifier(tableOf('container', step.level))}
          where squid_id = any(array(select id from squids where org_id = ${orgId})) and at >= ${timestampSql(fromMs)} and at < ${timestampSql(toMs)}
          ${hasSingleRows ? sql`` : sql`group by 1, 2, 3`}
        ) buckets where v is not null group by 1, 2 order by 1, 2`,
  )
  return rows.map(({ buckets, ...row }) => ({ ...row, times: buckets.map((bucket) => (bucket * step.ms) / 1000) }))
}

/** Returns the number of the organization's containers that were sampled since yesterday. */
export async function countContainers(db: Db, orgId: number): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from sampled_counters where squid_id = any(array(select id from squids where org_id = ${orgId}))`,
  )
  return rows[0]?.count ?? 0
}

/** A version with the values of its labels. */
export type LabelledSquid = { id: number; name: string; slot: string; tags: string[] }

/** Returns the names and tags of all versions of an organization. */
export async function selectLabels(db: Db, orgId: number): Promise<LabelledSquid[]> {
  const { rows } = await db.execute<LabelledSquid>(
    sql`select id, name, slot, coalesce((select to_json(array_agg(tag order by tag)) from squid_tags where squid_id = squids.id), '[]') as tags
        from squids where org_id = ${orgId}`,
  )
  return rows
}
