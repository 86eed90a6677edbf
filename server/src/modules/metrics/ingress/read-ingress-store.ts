// Reads tables of other modules: squids. Selects the versions of an organization in the same query.

import type { TimeGroup } from '@shoal/contract'
import { idArray, sql, timestampSql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { levelOfGroup, tableOf } from '../levels.ts'
import type { Range } from '../range.ts'
import { selectAtMs } from '../usage/usage-store.ts'
import { bucketCount } from './histogram.ts'

/** The requests to a version in one bucket of time. `histogram` counts the successful ones by latency (`histogram.ts`). */
export type IngressBucket = {
  squidId: number
  atMs: number
  successes: number
  errors: number
  successBytes: number
  errorBytes: number
  histogram: number[]
}

/** The requests of one day. `successes` and `errors` have the same order as `squidIds`. */
export type DailyCounts = { atMs: number; squidIds: number[]; successes: number[]; errors: number[] }

/** Returns the requests to all versions of an organization by day, oldest first. */
export async function selectDailyCounts(db: Db, orgId: number, { fromMs, toMs }: Range): Promise<DailyCounts[]> {
  const { rows } = await db.execute<DailyCounts>(
    sql`select ${selectAtMs}, to_json(array_agg(squid_id)) as "squidIds", to_json(array_agg(successes)) as successes, to_json(array_agg(errors)) as errors
        from ingress_days
        where squid_id = any(array(select id from squids where org_id = ${orgId}))
          and at >= date_trunc('day', ${timestampSql(fromMs)}, 'UTC') and at < ${timestampSql(toMs)} group by at order by at`,
  )
  return rows
}

/** Returns the requests to a version by time bucket, oldest first, without empty buckets. */
export async function selectIngress(
  db: Db,
  squidId: number,
  { fromMs, toMs }: Range,
  group: TimeGroup,
): Promise<IngressBucket[]> {
  const { rows } = await db.execute<IngressBucket>(
    sql`select squid_id as "squidId", ${selectAtMs}, successes, errors, success_bytes as "successBytes", error_bytes as "errorBytes",
          to_json(histogram) as histogram
        from ${sql.identifier(tableOf('ingress', levelOfGroup[group]))}
        where squid_id = ${squidId} and at >= ${timestampSql(fromMs)} and at < ${timestampSql(toMs)} order by at`,
  )
  return rows
}

/** Returns the latency histograms of the requests since a time, by version; omits versions without requests. */
export async function selectHistograms(db: Db, squidIds: number[], sinceMs: number): Promise<Map<number, number[]>> {
  const { rows } = await db.execute<{ squidId: number; histogram: number[] }>(
    sql`select squid_id as "squidId", to_json(array_agg(n order by i)) as histogram from (
          select squid_id, i, sum(n)::float8 as n from ingress_minutes, unnest(histogram) with ordinality as h (n, i)
          where squid_id = any(${idArray(squidIds)}) and at >= ${timestampSql(sinceMs)} group by 1, 2
        ) latency_buckets where i <= ${bucketCount} group by 1`,
  )
  return new Map(rows.map((row) => [row.squidId, row.histogram]))
}
