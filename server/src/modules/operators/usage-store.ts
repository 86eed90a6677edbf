// Reads tables of other modules: container_samples, log_blocks, log_streams, rpc_usage, squids. Operators see the usage of each version and
// organization.

import type { OperatorUsage } from '@shoal/contract'
import { days, minutes } from '../../clock.ts'
import type { Db } from '../../db/database.ts'
import { sql, timestampSql } from '../../db/sql.ts'
import { addUsage, noUsage } from './usage.ts'

/** By the ids of versions and of organizations. */
export type Usage = { bySquid: Map<number, OperatorUsage>; byOrg: Map<number, OperatorUsage> }
type SquidUsage = OperatorUsage & { squidId: number; orgId: number }

/**
 * Returns the usage of each existing version: CPU, memory and disks in the last five minutes, log lines and RPC requests in the last 24
 * hours.
 */
async function usageBySquid(db: Db, now: Date): Promise<SquidUsage[]> {
  const sampledFrom = timestampSql(now.getTime() - minutes(5))
  const dayAgo = timestampSql(now.getTime() - days(1))
  // Reads each version's samples by index, because the samples of all versions of a day are in one partition.
  const { rows } = await db.execute<SquidUsage>(sql`
    select s.id as "squidId", s.org_id as "orgId",
      coalesce(c.cpu, 0)::float8 as "cpuCores", coalesce(c.memory, 0)::float8 as "memoryBytes",
      coalesce(c.disk, 0)::float8 as "diskBytes",
      (coalesce(b.lines, 0) + coalesce(case when l.usage_day >= (${dayAgo} at time zone 'UTC')::date then l.last_seq - l.indexed_seq end, 0))::float8
        as "logLines",
      coalesce(r.requests, 0)::float8 as "rpcRequests"
    from squids s
    left join lateral (
      select sum(cpu) as cpu, sum(memory) as memory, sum(disk) as disk from (
        select sum(cpu_seconds) / nullif(sum(observed_seconds), 0) as cpu,
          sum(memory_byte_seconds) / nullif(sum(observed_seconds), 0) as memory, max(disk_used_bytes) as disk
        from container_samples where squid_id = s.id and at >= ${sampledFrom} group by container
      ) as containers
    ) as c on true
    left join (
      select squid_id, sum(last_seq - first_seq + 1) as lines from log_blocks where max_at >= ${dayAgo} group by 1
    ) as b on b.squid_id = s.id
    left join log_streams l on l.squid_id = s.id
    left join (
      select org_id, version, sum(requests) as requests from rpc_usage where hour >= ${dayAgo} group by 1, 2
    ) as r on r.org_id = s.org_id and r.version = s.id::text`)
  return rows
}

/**
 * Returns the usage of each existing version and each organization. The RPC requests of an organization are all requests with its token.
 */
export async function readUsage(db: Db, now: Date): Promise<Usage> {
  const [squids, requests] = await Promise.all([usageBySquid(db, now), rpcRequestsByOrg(db, now)])
  const bySquid = new Map<number, OperatorUsage>()
  const byOrg = new Map<number, OperatorUsage>()
  for (const { orgId, squidId, ...usage } of squids) {
    bySquid.set(squidId, usage)
    byOrg.set(orgId, addUsage(byOrg.get(orgId) ?? noUsage, usage))
  }
  // Includes the requests of callers that are not squids.
  for (const { orgId, rpcRequests } of requests) byOrg.set(orgId, { ...(byOrg.get(orgId) ?? noUsage), rpcRequests })
  return { bySquid, byOrg }
}

async function rpcRequestsByOrg(db: Db, now: Date): Promise<{ orgId: number; rpcRequests: number }[]> {
  const { rows } = await db.execute<{ orgId: number; rpcRequests: number }>(sql`
    select org_id as "orgId", sum(requests)::float8 as "rpcRequests" from rpc_usage
    where hour >= ${timestampSql(now.getTime() - days(1))} group by 1`)
  return rows
}
