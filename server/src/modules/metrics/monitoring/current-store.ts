import { idArray, sql, timestampSql } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { selectAtMs } from '../usage/usage-store.ts'

/** The newest sample of a container. Null means unknown. */
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

const isOneOfSquids = (squidIds: number[]) => sql`squid_id = any(${idArray(squidIds)})`

/** Returns the newest sample of each container. Ignores samples older than `sinceMs`. */
export async function selectNewest(db: Db, squidIds: number[], sinceMs: number): Promise<NewestSample[]> {
  const { rows } = await db.execute<NewestSample>(
    sql`select distinct on (squid_id, container) squid_id as "squidId", container, ${selectAtMs},
          cpu_seconds / nullif(observed_seconds, 0) as "cpuCores", throttled_seconds / nullif(observed_seconds, 0) as "throttledShare",
          cpu_limit_seconds / nullif(observed_seconds, 0) as "cpuLimitCores", memory_peak_bytes as "memoryBytes",
          memory_limit_bytes as "memoryLimitBytes", disk_used_bytes as "diskUsedBytes", disk_total_bytes as "diskTotalBytes",
          last_block as "lastBlock", chain_height as "chainHeight", sync_ratio as "syncRatio", eta_seconds as "etaSeconds",
          blocks_per_second as "blocksPerSecond"
        from container_samples where ${isOneOfSquids(squidIds)} and at >= ${timestampSql(sinceMs)} order by squid_id, container, at desc`,
  )
  return rows
}

/** Totals since a container was first observed. Null means that the container is not a processor, or never reported its requests. */
export type SampledTotals = {
  squidId: number
  container: string
  crashes: number
  oomKills: number
  rpcRequests: number | null
  rpcFailures: number | null
}

/** Returns the totals of all containers of these versions. */
export async function selectSampledTotals(db: Db, squidIds: number[]): Promise<SampledTotals[]> {
  const { rows } = await db.execute<SampledTotals>(
    sql`select squid_id as "squidId", container, sum(crashes)::float8 as crashes, sum(oom_kills)::float8 as "oomKills",
          sum(rpc_requests)::float8 as "rpcRequests", sum(rpc_failures)::float8 as "rpcFailures"
        from container_months where ${isOneOfSquids(squidIds)} group by 1, 2 order by 1, 2`,
  )
  return rows
}

/** All requests to a version since it was created. */
export type IngressTotals = {
  squidId: number
  successes: number
  errors: number
  successBytes: number
  errorBytes: number
}

/** Returns the totals of these versions; omits versions without requests. */
export async function selectIngressTotals(db: Db, squidIds: number[]): Promise<IngressTotals[]> {
  const { rows } = await db.execute<IngressTotals>(
    sql`select squid_id as "squidId", sum(successes)::float8 as successes, sum(errors)::float8 as errors,
          sum(success_bytes)::float8 as "successBytes", sum(error_bytes)::float8 as "errorBytes"
        from ingress_months where ${isOneOfSquids(squidIds)} group by 1 order by 1`,
  )
  return rows
}
