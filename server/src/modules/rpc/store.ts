// Writes tables of other modules: quota_usage. Requests are counted against the quota of an organization in the transaction that stores their usage.
// Reads tables of other modules: orgs. Admission needs the plan and the use of an organization in one query.

import type { OrgStatus, rpcTimeGroups } from '@shoal/contract'
import { and, asc, eq, gte, isNull, lte, sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import { deleteInBatches } from '../../db/delete-in-batches.ts'
import { orgs, quotaUsage } from '../orgs/index.ts'
import { rpcTokens, rpcUpstreamStates, rpcUsage } from './tables.ts'

export type TokenRow = typeof rpcTokens.$inferSelect
export type UsageRow = typeof rpcUsage.$inferSelect
export type UpstreamStateRow = typeof rpcUpstreamStates.$inferSelect

export async function findToken(db: Db, orgId: number): Promise<TokenRow | null> {
  const [row] = await db.select().from(rpcTokens).where(eq(rpcTokens.orgId, orgId))
  return row ?? null
}

/** Keeps an existing token. */
export async function addToken(db: Db, token: TokenRow): Promise<void> {
  await db.insert(rpcTokens).values(token).onConflictDoNothing({ target: rpcTokens.orgId })
}

export async function replaceToken(db: Db, token: TokenRow): Promise<void> {
  await db.insert(rpcTokens).values(token).onConflictDoUpdate({ target: rpcTokens.orgId, set: token })
}

/** @throws Error when the organization does not exist */
export async function orgCodeOf(db: Db, orgId: number): Promise<string> {
  const [row] = await db.select({ code: orgs.code }).from(orgs).where(eq(orgs.id, orgId))
  if (!row) throw new Error(`Organization ${orgId} does not exist`)
  return row.code
}

/** Notifies every process that listens on `channel`, when the transaction commits. */
export async function notify(db: Db, channel: string, payload: string): Promise<void> {
  await db.execute(sql`select pg_notify(${channel}, ${payload})`)
}

export type TokenOwner = { orgId: number; status: OrgStatus; isPlayground: boolean; used: number; cap: number | null }

/** The owner of a token, and its usage in the month that begins at `month` (`yyyy-MM-01`); null for unknown tokens. */
export async function findTokenOwner(db: Db, hash: string, month: string): Promise<TokenOwner | null> {
  const [row] = await db
    .select({
      orgId: orgs.id,
      status: orgs.status,
      isPlayground: orgs.isPlayground,
      cap: orgs.rpcRequestsCap,
      used: sql<number>`coalesce(${quotaUsage.used}, 0)`,
    })
    .from(rpcTokens)
    .innerJoin(orgs, eq(orgs.id, rpcTokens.orgId))
    .leftJoin(quotaUsage, and(eq(quotaUsage.orgId, orgs.id), eq(quotaUsage.quota, 'rpc'), eq(quotaUsage.month, month)))
    .where(and(eq(rpcTokens.hash, hash), isNull(orgs.deletedAt)))
  return row ?? null
}

/**
 * Adds to the counters and to the monthly totals, atomically. Counts of deleted organizations are dropped.
 * Returns the new totals.
 */
export async function addUsage(db: Db, rows: UsageRow[]): Promise<{ orgId: number; month: string; used: number }[]> {
  if (rows.length === 0) return []
  const usage = JSON.stringify(
    rows.map((r) => ({ ...r, org_id: r.orgId, hour: r.hour.toISOString(), month: monthOf(r.hour) })),
  )
  const columns = sql`(org_id bigint, chain text, method text, version text, hour timestamptz, month date, requests bigint, failures bigint)`
  return db.transaction(async (tx) => {
    // Ordered, so that two gateways cannot deadlock.
    await tx.execute(sql`
      insert into rpc_usage (org_id, hour, chain, method, version, requests, failures)
      select t.org_id, t.hour, t.chain, t.method, t.version, t.requests, t.failures
      from jsonb_to_recordset(${usage}::jsonb) as t ${columns} join orgs on orgs.id = t.org_id
      order by 1, 2, 3, 4, 5
      on conflict (org_id, hour, chain, method, version) do update
      set requests = rpc_usage.requests + excluded.requests, failures = rpc_usage.failures + excluded.failures`)
    const { rows: totals } = await tx.execute<{ org_id: number; month: string; used: number }>(sql`
      insert into quota_usage (org_id, quota, month, used)
      select t.org_id, 'rpc', t.month, sum(t.requests)
      from jsonb_to_recordset(${usage}::jsonb) as t ${columns} join orgs on orgs.id = t.org_id
      group by t.org_id, t.month order by 1, 3
      on conflict (org_id, quota, month) do update set used = quota_usage.used + excluded.used
      returning org_id, to_char(month, 'YYYY-MM-DD') as month, used`)
    return totals.map((t) => ({ orgId: t.org_id, month: t.month, used: t.used }))
  })
}

/** The first day of the calendar month, UTC. */
export const monthOf = (at: Date): string => `${at.toISOString().slice(0, 7)}-01`

/** Requests the organization made in the calendar month of `at`, UTC: all chains and methods. */
export async function rpcUsageOfMonth(db: Db, orgId: number, at: Date): Promise<number> {
  const [row] = await db
    .select({ used: quotaUsage.used })
    .from(quotaUsage)
    .where(and(eq(quotaUsage.orgId, orgId), eq(quotaUsage.quota, 'rpc'), eq(quotaUsage.month, monthOf(at))))
  return row?.used ?? 0
}

/** Requests since the beginning of the calendar month of `at`, by chain. */
export async function usageByChain(db: Db, orgId: number, at: Date): Promise<Map<string, number>> {
  const rows = await db
    .select({ chain: rpcUsage.chain, requests: sql<number>`sum(${rpcUsage.requests})::bigint` })
    .from(rpcUsage)
    .where(and(eq(rpcUsage.orgId, orgId), gte(rpcUsage.hour, new Date(monthOf(at)))))
    .groupBy(rpcUsage.chain)
  return new Map(rows.map((r) => [r.chain, r.requests]))
}

/** Both ends are inclusive. */
export type Range = { from: Date; to: Date }

export function usageByMethod(
  db: Db,
  orgId: number,
  chain: string,
  { from, to }: Range,
  group: (typeof rpcTimeGroups)[number],
) {
  const ts = sql<Date>`date_trunc(${sql.raw(`'${group.toLowerCase()}'`)}, ${rpcUsage.hour}, 'UTC')`
  return db
    .select({
      ts: ts.mapWith(rpcUsage.hour),
      method: rpcUsage.method,
      requests: sql<number>`sum(${rpcUsage.requests})::bigint`,
      failures: sql<number>`sum(${rpcUsage.failures})::bigint`,
    })
    .from(rpcUsage)
    .where(and(eq(rpcUsage.orgId, orgId), eq(rpcUsage.chain, chain), gte(rpcUsage.hour, from), lte(rpcUsage.hour, to)))
    .groupBy(ts, rpcUsage.method)
    .orderBy(asc(ts), asc(rpcUsage.method))
}

export async function deleteRpcUsageBefore(db: Db, at: Date): Promise<number> {
  return await deleteInBatches(db, rpcUsage, sql`hour < ${at.toISOString()}`)
}

export async function saveUpstreamStates(db: Db, rows: UpstreamStateRow[]): Promise<void> {
  if (rows.length === 0) return
  await db
    .insert(rpcUpstreamStates)
    .values(rows)
    .onConflictDoUpdate({
      target: [rpcUpstreamStates.chain, rpcUpstreamStates.upstream],
      set: {
        isHealthy: sql`excluded.is_healthy`,
        isArchive: sql`excluded.is_archive`,
        headBlock: sql`excluded.head_block`,
        finalizedBlock: sql`excluded.finalized_block`,
        latencyP50Ms: sql`excluded.latency_p50_ms`,
        latencyP95Ms: sql`excluded.latency_p95_ms`,
        reason: sql`excluded.reason`,
        observedAt: sql`excluded.observed_at`,
      },
    })
}

export function listUpstreamStates(db: Db, chain: string, since: Date): Promise<UpstreamStateRow[]> {
  return db
    .select()
    .from(rpcUpstreamStates)
    .where(and(eq(rpcUpstreamStates.chain, chain), gte(rpcUpstreamStates.observedAt, since)))
    .orderBy(asc(rpcUpstreamStates.upstream))
}
