// Reads tables of other modules: orgs, quota_usage. Admission reads an organization's plan and usage in one query.

import type { OrgStatus, rpcTimeGroups } from '@shoal/contract'
import { firstDayOfMonth } from '../../clock.ts'
import { and, asc, eq, gte, inArray, isNull, lte, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { deleteInBatches } from '../../db/delete-in-batches.ts'
import { addQuotaUse, orgs, quotaUsage } from '../orgs/index.ts'
import { rpcTokens, rpcUsage } from './tables.ts'

export type TokenRow = typeof rpcTokens.$inferSelect
export type RpcUsageRow = typeof rpcUsage.$inferSelect

/** Returns the tokens of the organizations. Organizations without a token are omitted. */
export function findTokens(db: Db, orgIds: number[]): Promise<TokenRow[]> {
  return db.select().from(rpcTokens).where(inArray(rpcTokens.orgId, orgIds))
}

/** Adds a token unless the organization has one. */
export async function addToken(db: Db, token: TokenRow): Promise<void> {
  await db.insert(rpcTokens).values(token).onConflictDoNothing({ target: rpcTokens.orgId })
}

/** Adds a token, or replaces an existing one. */
export async function replaceToken(db: Db, token: TokenRow): Promise<void> {
  await db.insert(rpcTokens).values(token).onConflictDoUpdate({ target: rpcTokens.orgId, set: token })
}

/** @throws Error when the organization does not exist */
export async function orgCodeOf(db: Db, orgId: number): Promise<string> {
  const [row] = await db.select({ code: orgs.code }).from(orgs).where(eq(orgs.id, orgId))
  if (!row) throw new Error(`Organization ${orgId} does not exist`)
  return row.code
}

/** The organization that a token belongs to, with what decides whether its requests are admitted. */
export type TokenOwner = {
  orgId: number
  status: OrgStatus
  isPlayground: boolean
  isSuspended: boolean
  /** Requests in the month so far. */
  used: number
  /** Maximum number of requests per month; null if unlimited. */
  cap: number | null
}

/** Returns the owner of a token with its usage in the month that begins at `month` (`yyyy-MM-01`); null for unknown tokens. */
export async function findTokenOwner(db: Db, hash: string, month: string): Promise<TokenOwner | null> {
  const [row] = await db
    .select({
      orgId: orgs.id,
      status: orgs.status,
      isPlayground: orgs.isPlayground,
      isSuspended: sql<boolean>`${orgs.suspendedAt} is not null`,
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
 * Adds the rows to the hourly counters of RPC requests and to the monthly totals, in one transaction. Drops rows of organizations that no
 * longer exist. Returns the new totals; `month` is the first day of the month (`yyyy-MM-01`).
 */
export async function addRpcUsage(
  db: Db,
  rows: RpcUsageRow[],
): Promise<{ orgId: number; month: string; used: number }[]> {
  if (rows.length === 0) return []
  const usage = JSON.stringify(rows.map((r) => ({ ...r, org_id: r.orgId, hour: r.hour.toISOString() })))
  const columns = sql`(org_id bigint, chain text, method text, version text, hour timestamptz, requests bigint, failures bigint)`
  return db.transaction(async (tx) => {
    // Ordered, so that concurrent gateways cannot deadlock.
    await tx.execute(sql`
      insert into rpc_usage (org_id, hour, chain, method, version, requests, failures)
      select t.org_id, t.hour, t.chain, t.method, t.version, t.requests, t.failures
      from jsonb_to_recordset(${usage}::jsonb) as t ${columns} join orgs on orgs.id = t.org_id
      order by 1, 2, 3, 4, 5
      on conflict (org_id, hour, chain, method, version) do update
      set requests = rpc_usage.requests + excluded.requests, failures = rpc_usage.failures + excluded.failures`)
    return await addQuotaUse(
      tx,
      rows.map((r) => ({ orgId: r.orgId, quota: 'rpc', month: firstDayOfMonth(r.hour.getTime()), used: r.requests })),
    )
  })
}

/** Returns the number of requests since the beginning of the calendar month of `at` (UTC), by the id of the chain. */
export async function usageByChain(db: Db, orgId: number, at: Date): Promise<Map<string, number>> {
  const rows = await db
    .select({ chain: rpcUsage.chain, requests: sql<number>`sum(${rpcUsage.requests})::bigint` })
    .from(rpcUsage)
    .where(and(eq(rpcUsage.orgId, orgId), gte(rpcUsage.hour, new Date(firstDayOfMonth(at.getTime())))))
    .groupBy(rpcUsage.chain)
  return new Map(rows.map((r) => [r.chain, r.requests]))
}

/** A range of hours, each given by its start. Both ends are inclusive. */
export type HourRange = { from: Date; to: Date }

/** Returns the requests and failures of the range by hour or day (UTC) and method, oldest first. */
export function usageByMethod(
  db: Db,
  orgId: number,
  chain: string,
  { from, to }: HourRange,
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

/** Deletes the counters of hours that started before `at`; returns the number of deleted rows. */
export async function deleteRpcUsageBefore(db: Db, at: Date): Promise<number> {
  return await deleteInBatches(db, rpcUsage, sql`hour < ${at.toISOString()}`)
}
