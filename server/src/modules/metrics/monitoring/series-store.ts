import type { MonitoringQuery } from '@shoal/contract'
import { sql, type SQL } from 'drizzle-orm'
import type { Db } from '../../../db/database.ts'
import { tableOf } from '../levels.ts'
import { atMs, timeOf } from '../usage/usage-store.ts'
import type { Step } from './step.ts'

/** Of one container: beginnings of buckets in seconds, in no order, and the value of each. */
export type Series = { squidId: number; container: string; times: number[]; values: (number | null)[] }

/** What is drawn of one bucket. Null where nothing is known. */
const valueOf: Record<MonitoringQuery, SQL> = {
  cpu_utilization: sql`100 * sum(cpu_seconds) / nullif(sum(cpu_limit_seconds), 0)`,
  cpu_trotting: sql`least(100, 100 * sum(throttled_seconds) / nullif(sum(observed_seconds), 0))`,
  mem_utilization: sql`100.0 * max(memory_peak_bytes) / nullif(max(memory_limit_bytes), 0)`,
  disk_utilization: sql`100.0 * max(disk_used_bytes) / nullif(max(disk_total_bytes), 0)`,
  crashes: sql`sum(crashes)`,
  oom_kills: sql`sum(oom_kills)`,
  indexed_blocks: sql`sum(blocks)`,
  indexed_height: sql`(max(array[extract(epoch from at)::float8, last_block]) filter (where last_block is not null))[2]`,
}

export async function selectSeries(
  db: Db,
  orgId: number,
  query: MonitoringQuery,
  { fromMs, toMs, step }: { fromMs: number; toMs: number; step: Step },
): Promise<Series[]> {
  const stepText = `${step.ms / 1000} seconds`
  const { rows } = await db.execute<Series>(
    sql`select squid_id as "squidId", container, to_json(array_agg(t)) as times, to_json(array_agg(v)) as values from (
          select squid_id, container, extract(epoch from date_bin(${stepText}::interval, at, 'epoch'::timestamptz))::bigint as t,
            (${valueOf[query]})::float8 as v
          from ${sql.identifier(tableOf('container', step.level))}
          where squid_id in (select id from squids where org_id = ${orgId}) and at >= ${timeOf(fromMs)} and at < ${timeOf(toMs)}
          group by 1, 2, 3
        ) buckets where v is not null group by 1, 2 order by 1, 2`,
  )
  return rows
}

/** How many containers an organization has, those of the last day. */
export async function countContainers(db: Db, orgId: number): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(
    sql`select count(*)::int as count from sampled_counters where squid_id in (select id from squids where org_id = ${orgId})`,
  )
  return rows[0]?.count ?? 0
}

export type LabelledSquid = { id: number; name: string; slot: string; tags: string[] }

export async function selectLabels(db: Db, orgId: number): Promise<LabelledSquid[]> {
  const { rows } = await db.execute<LabelledSquid>(
    sql`select id, name, slot, coalesce((select to_json(array_agg(tag order by tag)) from squid_tags where squid_id = squids.id), '[]') as tags
        from squids where org_id = ${orgId}`,
  )
  return rows
}

/** The newest sample of each container of an organization. */
export type NewestSample = {
  squidId: number
  container: string
  atMs: number
  cpuCores: number | null
  throttledShare: number | null
  cpuLimitCores: number | null
  memoryBytes: number | null
  memoryLimitBytes: number | null
  diskUsedBytes: number | null
  diskTotalBytes: number | null
  lastBlock: number | null
  chainHeight: number | null
  syncRatio: number | null
  etaSeconds: number | null
  blocksPerSecond: number | null
}

const among = (squidIds: number[]) => sql`squid_id = any(${sql.param(squidIds)}::bigint[])`

/** Older ones than `sinceMs` say nothing of now. */
export async function selectNewest(db: Db, squidIds: number[], sinceMs: number): Promise<NewestSample[]> {
  const { rows } = await db.execute<NewestSample>(
    sql`select distinct on (squid_id, container) squid_id as "squidId", container, ${atMs},
          cpu_seconds / nullif(observed_seconds, 0) as "cpuCores", throttled_seconds / nullif(observed_seconds, 0) as "throttledShare",
          cpu_limit_seconds / nullif(observed_seconds, 0) as "cpuLimitCores", memory_peak_bytes as "memoryBytes",
          memory_limit_bytes as "memoryLimitBytes", disk_used_bytes as "diskUsedBytes", disk_total_bytes as "diskTotalBytes",
          last_block as "lastBlock", chain_height as "chainHeight", sync_ratio as "syncRatio", eta_seconds as "etaSeconds",
          blocks_per_second as "blocksPerSecond"
        from container_samples where ${among(squidIds)} and at >= ${timeOf(sinceMs)} order by squid_id, container, at desc`,
  )
  return rows
}

/** Since a container was first seen: what only ever grows. */
export type ContainerTotals = {
  squidId: number
  container: string
  crashes: number
  oomKills: number
  rpcRequests: number | null
  rpcFailures: number | null
}

export async function selectContainerTotals(db: Db, squidIds: number[]): Promise<ContainerTotals[]> {
  const { rows } = await db.execute<ContainerTotals>(
    sql`select squid_id as "squidId", container, sum(crashes)::float8 as crashes, sum(oom_kills)::float8 as "oomKills",
          sum(rpc_requests)::float8 as "rpcRequests", sum(rpc_failures)::float8 as "rpcFailures"
        from container_months where ${among(squidIds)} group by 1, 2 order by 1, 2`,
  )
  return rows
}

export type IngressTotals = {
  squidId: number
  successes: number
  errors: number
  successBytes: number
  errorBytes: number
}

export async function selectIngressTotals(db: Db, squidIds: number[]): Promise<IngressTotals[]> {
  const { rows } = await db.execute<IngressTotals>(
    sql`select squid_id as "squidId", sum(successes)::float8 as successes, sum(errors)::float8 as errors,
          sum(success_bytes)::float8 as "successBytes", sum(error_bytes)::float8 as "errorBytes"
        from ingress_months where ${among(squidIds)} group by 1 order by 1`,
  )
  return rows
}
