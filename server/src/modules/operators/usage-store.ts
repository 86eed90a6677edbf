// Reads tables of other modules: container_samples, log_blocks, log_streams, rpc_usage, squids. Operators see the usage of each version and
// organization.

import type { OperatorUsage } from '@shoal/contract'
import { days, minutes } from '../../clock.ts'
import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { isUnavailable } from '../../db/unavailable.ts'
import { sql, timestampSql } from '../../db/sql.ts'
import { databaseOfNewLines } from '../logs/index.ts'
import { addUsage, noUsage } from './usage.ts'

/** Usage by the id of the version, and by the id of the organization. */
export type Usage = { bySquid: Map<number, OperatorUsage>; byOrg: Map<number, OperatorUsage> }
type SquidUsage = Omit<OperatorUsage, 'logLines'> & { squidId: number; orgId: number }

/**
 * Returns the usage of each existing version: CPU, memory and disks in the last five minutes, RPC requests in the last 24 hours.
 */
async function usageBySquid(db: Db, now: Date): Promise<SquidUsage[]> {
  const sampledFrom = timestampSql(now.getTime() - minutes(5))
  const dayAgo = timestampSql(now.getTime() - days(1))
  // Reads each version's samples by index, because one partition contains a day's samples of all versions.
  const { rows } = await db.execute<SquidUsage>(sql`
    select s.id as "squidId", s.org_id as "orgId",
      coalesce(c.cpu, 0)::float8 as "cpuCores", coalesce(c.memory, 0)::float8 as "memoryBytes",
      coalesce(c.disk, 0)::float8 as "diskBytes",
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
      select org_id, version, sum(requests) as requests from rpc_usage where hour >= ${dayAgo} group by 1, 2
    ) as r on r.org_id = s.org_id and r.version = s.id::text`)
  return rows
}

/**
 * Returns the log lines of each version in the last 24 hours. Omits lines that are still to be moved to a separate database of logs, and
 * returns none while that database does not respond, because the other values are still useful.
 */
async function logLinesBySquid(db: Db, now: Date): Promise<Map<number, number>> {
  const dayAgo = timestampSql(now.getTime() - days(1))
  // The lines after `indexed_seq` are not in blocks yet. `usage_day` is the last day on which the version wrote lines.
  try {
    const { rows } = await db.execute<{ squidId: number; lines: number }>(sql`
      select squid_id as "squidId", sum(lines)::float8 as lines from (
        select squid_id, last_seq - first_seq + 1 as lines from log_blocks where max_at >= ${dayAgo}
        union all
        select squid_id, last_seq - indexed_seq from log_streams where usage_day >= (${dayAgo} at time zone 'UTC')::date
      ) as counts group by 1`)
    return new Map(rows.map(({ squidId, lines }) => [squidId, lines]))
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return new Map()
  }
}

/**
 * Returns the usage of each existing version and each organization. The RPC requests of an organization are all requests with its token.
 */
export async function readUsage(app: Pick<App, 'config' | 'db' | 'logsDatabase'>, now: Date): Promise<Usage> {
  const [squids, requests, logLines] = await Promise.all([
    usageBySquid(app.db, now),
    rpcRequestsByOrg(app.db, now),
    databaseOfNewLines(app).then((db) => logLinesBySquid(db, now)),
  ])
  const bySquid = new Map<number, OperatorUsage>()
  const byOrg = new Map<number, OperatorUsage>()
  for (const { orgId, squidId, ...measured } of squids) {
    const usage = { ...measured, logLines: logLines.get(squidId) ?? 0 }
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
