// Reads tables of other modules: container_states, orgs, rpc_usage, squid_databases, squids. The meter reads programs, databases and RPC requests.

import { monthOf } from '../../../clock.ts'
import { and, eq, gt, gte, lt, sql, type SQL } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { putRows } from '../../../db/put-rows.ts'
import type { DayUsage } from '../receipts/rate.ts'
import { invoices, meterState, usageRecords, usageSpans } from '../tables.ts'
import { monthAfter } from '../time.ts'
import type { RecordedUsage, Span, HourlyUsage } from './spans.ts'

/** A running or starting program, with what its price depends on. */
export type RunningContainer = {
  orgId: number
  squidId: number
  squidName: string
  container: string
  apiProfile: string | null
  processorProfile: string | null
  hasuraProfile: string | null
  isDedicated: boolean
  /** Start of the oldest current run of the container, if several generations run it. */
  sinceMs: number
}

const isOfOrg = (squidId: SQL, orgId: number | null): SQL =>
  orgId === null ? sql`true` : sql`${squidId} = any(array(select id from squids where org_id = ${orgId}))`

/** Returns running or starting programs, each once even if two generations run it. Excludes playgrounds, which are not billed. */
export async function selectRunning(db: Db, orgId: number | null = null): Promise<RunningContainer[]> {
  const { rows } = await db.execute<RunningContainer>(sql`
    select s.org_id as "orgId", s.id as "squidId", s.name || '@' || s.slot as "squidName", c.container,
      s.api_profile as "apiProfile", s.processor_profile as "processorProfile", s.hasura_profile as "hasuraProfile", s.is_dedicated as "isDedicated",
      min(extract(epoch from c.since) * 1000)::bigint as "sinceMs"
    from container_states c join squids s on s.id = c.squid_id join orgs o on o.id = s.org_id
    where not o.is_playground and c.state in ('starting', 'running') and c.container <> 'init'
      and ${isOfOrg(sql`c.squid_id`, orgId)}
    group by s.id, c.container order by s.id, c.container`)
  return rows
}

/** The database of a version. `totalBytes`: the size of its storage, which is billed. */
export type StoredDatabase = { orgId: number; squidId: number; squidName: string; profile: string; totalBytes: number }

/** Returns the databases of all versions, or those of an organization. Excludes playgrounds. */
export async function selectBilledDatabases(db: Db, orgId: number | null = null): Promise<StoredDatabase[]> {
  const { rows } = await db.execute<StoredDatabase>(sql`
    select s.org_id as "orgId", s.id as "squidId", s.name || '@' || s.slot as "squidName", d.profile,
      d.total_bytes as "totalBytes"
    from squid_databases d join squids s on s.id = d.squid_id join orgs o on o.id = s.org_id
    where not o.is_playground and ${isOfOrg(sql`d.squid_id`, orgId)} order by s.id`)
  return rows
}

/** Returns the spans that end after `fromMs`. */
export async function selectSpans(db: Db, fromMs: number, orgId?: number): Promise<Span[]> {
  const isSelected = and(gt(usageSpans.toMs, fromMs), orgId === undefined ? undefined : eq(usageSpans.orgId, orgId))
  const { rows } = await db.execute<Span>(sql`
    select org_id as "orgId", squid_id as "squidId", squid_name as "squidName", resource, type, size, from_ms as "fromMs", to_ms as "toMs"
    from usage_spans where ${isSelected}`)
  return rows
}

/** Adds spans, and extends those that already exist. */
export async function saveSpans(db: Db, spans: readonly Span[]): Promise<void> {
  await putRows(
    db,
    usageSpans,
    spans,
    ['squidId', 'resource', 'type', 'size', 'fromMs'],
    sql`to_ms = greatest(${usageSpans.toMs}, excluded.to_ms)`,
  )
}

/** Deletes the spans that end before `ms`. */
export async function deleteSpansBefore(db: Db, ms: number): Promise<void> {
  await db.delete(usageSpans).where(lt(usageSpans.toMs, ms))
}

/** Returns the progress of the meter; null before its first reading. */
export async function readMeter(db: Db) {
  const [row] = await db.select().from(meterState)
  return row ?? null
}

/** Stores the progress of the meter. */
export async function writeMeter(db: Db, state: { observedAtMs: number; recordedUntilMs: number }): Promise<void> {
  await db
    .insert(meterState)
    .values({ id: 1, ...state })
    .onConflictDoUpdate({ target: meterState.id, set: state })
}

/** Returns the RPC requests by version and hour, starting with the hour `fromMs`. Excludes playgrounds. */
export async function selectRpcUsage(db: Db, fromMs: number, orgId: number | null = null): Promise<HourlyUsage[]> {
  const { rows } = await db.execute<{
    orgId: number
    version: string
    squidName: string | null
    hourMs: number
    requests: number
  }>(
    sql`select u.org_id as "orgId", u.version, s.name || '@' || s.slot as "squidName",
          (extract(epoch from u.hour) * 1000)::bigint as "hourMs", sum(u.requests)::bigint as requests
        from rpc_usage u join orgs o on o.id = u.org_id and not o.is_playground
        left join squids s on s.id = case when u.version ~ '^[0-9]{1,18}$' then u.version::bigint end and s.org_id = u.org_id
        where u.hour >= ${new Date(fromMs)} and (${orgId}::bigint is null or u.org_id = ${orgId}::bigint)
        group by u.org_id, u.version, s.name, s.slot, u.hour having sum(u.requests) > 0`,
  )
  return rows.map((row) => ({
    orgId: row.orgId,
    // Only the id of a deleted version is known. A caller may also send text that is not the id of a version.
    squidId: row.squidName !== null || /^\d{1,15}$/.test(row.version) ? Number(row.version) : null,
    squidName: row.squidName,
    source: 'rpc' as const,
    resource: `${row.orgId}/rpc/${row.version}`,
    type: 'rpc',
    hourMs: row.hourMs,
    quantity: BigInt(row.requests),
  }))
}

/** Returns the recorded usage by resource and hour, starting with the hour `fromMs`. */
export async function selectRecordedUsage(db: Db, fromMs: number, orgId?: number): Promise<RecordedUsage[]> {
  const rows = await db
    .select({
      source: usageRecords.source,
      resource: usageRecords.resource,
      hour: usageRecords.hour,
      quantity: sql<string>`sum(${usageRecords.quantity})::text`,
      parts: sql<number>`count(*)::int`,
    })
    .from(usageRecords)
    .where(
      and(gte(usageRecords.hour, new Date(fromMs)), orgId === undefined ? undefined : eq(usageRecords.orgId, orgId)),
    )
    .groupBy(usageRecords.source, usageRecords.resource, usageRecords.hour)
  return rows.map(({ hour, quantity, ...row }) => ({ ...row, hourMs: hour.getTime(), quantity: BigInt(quantity) }))
}

/** Adds usage records; does not change existing ones. Adds usage of a closed month to the first open month. */
export async function addRecords(db: Db, rows: readonly (HourlyUsage & { part: number })[], at: Date): Promise<void> {
  if (rows.length === 0) return
  const lastClosedMonths = new Map(
    (
      await db
        .select({ orgId: invoices.orgId, month: sql<string>`max(${invoices.month})` })
        .from(invoices)
        .groupBy(invoices.orgId)
    ).map((row) => [row.orgId, row.month]),
  )
  const values = rows.map(({ hourMs, quantity, ...row }) => {
    const month = monthOf(hourMs)
    const lastClosed = lastClosedMonths.get(row.orgId)
    return {
      ...row,
      hour: new Date(hourMs),
      quantity: quantity.toString(),
      month: lastClosed !== undefined && month <= lastClosed ? monthAfter(lastClosed) : month,
      recordedAt: at,
    }
  })
  for (let i = 0; i < values.length; i += 1000)
    await db
      .insert(usageRecords)
      .values(values.slice(i, i + 1000))
      .onConflictDoNothing()
}

/**
 * Returns the recorded usage of all organizations in a month by day, with all versions together, since prices do not depend on
 * the version.
 */
export async function usageOfMonthByOrg(db: Db, month: string): Promise<(DayUsage & { orgId: number })[]> {
  const day = sql<string>`to_char(${usageRecords.hour} at time zone 'UTC', 'YYYY-MM-DD')`
  const rows = await db
    .select({
      orgId: usageRecords.orgId,
      day,
      type: usageRecords.type,
      quantity: sql<string>`sum(${usageRecords.quantity})::text`,
    })
    .from(usageRecords)
    .where(eq(usageRecords.month, month))
    .groupBy(usageRecords.orgId, day, usageRecords.type)
  return rows.map((row) => ({ ...row, squidId: null, squidName: null, quantity: BigInt(row.quantity) }))
}

/** Returns the recorded usage for the receipt of a month, by day and version. */
export async function usageOfMonth(db: Db, orgId: number, month: string): Promise<DayUsage[]> {
  const day = sql<string>`to_char(${usageRecords.hour} at time zone 'UTC', 'YYYY-MM-DD')`
  const rows = await db
    .select({
      day,
      type: usageRecords.type,
      squidId: usageRecords.squidId,
      squidName: sql<string | null>`max(${usageRecords.squidName})`,
      quantity: sql<string>`sum(${usageRecords.quantity})::text`,
    })
    .from(usageRecords)
    .where(and(eq(usageRecords.orgId, orgId), eq(usageRecords.month, month)))
    .groupBy(day, usageRecords.type, usageRecords.squidId)
  return rows.map((row) => ({ ...row, quantity: BigInt(row.quantity) }))
}
