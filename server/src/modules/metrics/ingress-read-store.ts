import type { TimeGroup } from '@shoal/contract'
import { sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { bucketCount } from './histogram.ts'
import type { Range } from './range.ts'

export type IngressBucket = {
  squidId: number
  atMs: number
  successes: number
  errors: number
  successBytes: number
  errorBytes: number
  histogram: number[]
}

const timeOf = (ms: number) => sql`to_timestamp(${ms}::float8 / 1000)`
const truncated = (group: TimeGroup) =>
  sql`(extract(epoch from date_trunc(${group.toLowerCase()}, minute, 'UTC')) * 1000)::float8`

/** Requests to all versions of an organization by day, in the order of time. */
export async function selectDailyCounts(
  db: Db,
  orgId: number,
  { fromMs, toMs }: Range,
): Promise<Pick<IngressBucket, 'squidId' | 'atMs' | 'successes' | 'errors'>[]> {
  const { rows } = await db.execute<Pick<IngressBucket, 'squidId' | 'atMs' | 'successes' | 'errors'>>(
    sql`select squid_id as "squidId", ${truncated('Day')} as "atMs", sum(successes)::float8 as successes, sum(errors)::float8 as errors
        from ingress_minutes join squids on squids.id = squid_id and org_id = ${orgId}
        where minute >= ${timeOf(fromMs)} and minute < ${timeOf(toMs)} group by 1, 2 order by 2, 1`,
  )
  return rows
}

/** What was asked of a version, in buckets of time that had requests. */
export async function selectIngress(
  db: Db,
  squidId: number,
  { fromMs, toMs }: Range,
  group: TimeGroup,
): Promise<IngressBucket[]> {
  const { rows } = await db.execute<Omit<IngressBucket, 'histogram'> & { histograms: number[][] }>(
    sql`select squid_id as "squidId", ${truncated(group)} as "atMs", sum(successes)::float8 as successes, sum(errors)::float8 as errors,
          sum(success_bytes)::float8 as "successBytes", sum(error_bytes)::float8 as "errorBytes", json_agg(histogram) as histograms
        from ingress_minutes where squid_id = ${squidId} and minute >= ${timeOf(fromMs)} and minute < ${timeOf(toMs)}
        group by 1, 2 order by 2`,
  )
  return rows.map(({ histograms, ...row }) => ({ ...row, histogram: merged(histograms) }))
}

function merged(histograms: number[][]): number[] {
  const sum = Array.from({ length: bucketCount }, () => 0)
  for (const histogram of histograms) for (const [i, n] of histogram.entries()) sum[i] = (sum[i] ?? 0) + n
  return sum
}
