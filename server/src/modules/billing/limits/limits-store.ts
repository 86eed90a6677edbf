// Reads tables of other modules: orgs, quota_usage, squids, squid_tags. Selects organizations and their caps, and versions to hibernate.

import { firstDayOfMonth, monthOf } from '../../../clock.ts'
import { and, eq, isNotNull, isNull, or, sql, ne } from '../../../db/sql.ts'
import type { Db } from '../../../db/database.ts'
import { orgs } from '../../orgs/index.ts'
import type { AccountRow } from '../payments/payment-store.ts'
import { billingAccounts, billingHibernations } from '../tables.ts'
import { limits } from '@shoal/contract'

/** Returns the accounts with a cap, and those whose organization still has restrictions from an earlier cap. */
export async function listAccountsWithCaps(db: Db): Promise<AccountRow[]> {
  const rows = await db
    .select({ account: billingAccounts })
    .from(billingAccounts)
    .innerJoin(orgs, and(eq(orgs.id, billingAccounts.orgId), isNull(orgs.deletedAt)))
    .where(
      or(
        isNotNull(billingAccounts.spendCapUsd),
        isNotNull(billingAccounts.rpcRequestsCap),
        isNotNull(orgs.deploysStoppedUntil),
        isNotNull(orgs.rpcRequestsCap),
      ),
    )
  return rows.map((row) => row.account)
}

/** Returns the ids of an organization's versions with tags, whose addresses are likely in use. */
export async function versionsWithTags(db: Db, orgId: number): Promise<Set<number>> {
  const { rows } = await db.execute<{ squidId: number }>(
    sql`select distinct squid_id as "squidId" from squid_tags where org_id = ${orgId}`,
  )
  return new Set(rows.map((row) => row.squidId))
}

/** A version that is marked for hibernation, or for a restart. */
export type HibernationRow = typeof billingHibernations.$inferSelect

/** Marks all running versions for hibernation. Versions that a member hibernated are not marked, so billing will not restart them. */
export async function requestHibernationsForDebt(db: Db, orgId: number, at: Date): Promise<void> {
  await db.execute(sql`
    insert into billing_hibernations (squid_id, org_id, squid_name, reason, month, is_waking, at)
    select id, org_id, name || '@' || slot, 'debt', ${monthOf(at.getTime())}, false, ${at} from squids
    where org_id = ${orgId} and desired_state = 'running'
    on conflict (squid_id) do update set reason = 'debt', is_waking = false`)
}

/**
 * Marks the running versions of suspended organizations for hibernation. When a suspension has ended, requests a restart of the
 * versions that it hibernated. Does not change versions that are marked for another reason.
 */
export async function applySuspensions(db: Db, at: Date): Promise<void> {
  await db.execute(sql`
    insert into billing_hibernations (squid_id, org_id, squid_name, reason, month, is_waking, at)
    select s.id, s.org_id, s.name || '@' || s.slot, 'suspension', ${monthOf(at.getTime())}, false, ${at}
    from orgs o join squids s on s.org_id = o.id
    where o.suspended_at is not null and s.desired_state = 'running'
    on conflict (squid_id) do update set is_waking = false where billing_hibernations.reason = 'suspension'`)
  await db.execute(sql`
    update billing_hibernations h set is_waking = true from orgs o
    where o.id = h.org_id and o.suspended_at is null and h.reason = 'suspension' and not h.is_waking`)
}

/** Marks a version for hibernation because of the spending cap. Returns false if the version was marked already. */
export async function requestHibernationForCap(
  db: Db,
  squid: { id: number; orgId: number; name: string },
  at: Date,
): Promise<boolean> {
  const insertedRows = await db
    .insert(billingHibernations)
    .values({
      squidId: squid.id,
      orgId: squid.orgId,
      squidName: squid.name,
      reason: 'cap',
      month: monthOf(at.getTime()),
      at,
    })
    .onConflictDoNothing()
    .returning({ id: billingHibernations.squidId })
  return insertedRows.length > 0
}

/** Requests restarts of the versions that were hibernated for debt. */
export async function requestRestartsAfterDebt(db: Db, orgId: number): Promise<void> {
  await markForRestart(db, orgId, 'debt')
}

/** Requests restarts of the versions that the cap has hibernated. */
export async function requestRestartsAfterCap(db: Db, orgId: number): Promise<void> {
  await markForRestart(db, orgId, 'cap')
}

async function markForRestart(db: Db, orgId: number, reason: HibernationRow['reason']): Promise<void> {
  await db
    .update(billingHibernations)
    .set({ isRestartRequested: true })
    .where(and(eq(billingHibernations.orgId, orgId), eq(billingHibernations.reason, reason)))
}

/** Returns all versions that are marked for hibernation or a restart. */
export const listHibernations = (db: Db): Promise<HibernationRow[]> => db.select().from(billingHibernations)

/** Returns the versions that the cap has hibernated, or will hibernate, and whose restart is not requested. */
export function listHibernatedByCap(db: Db, orgId: number): Promise<HibernationRow[]> {
  return db
    .select()
    .from(billingHibernations)
    .where(
      and(
        eq(billingHibernations.orgId, orgId),
        eq(billingHibernations.reason, 'cap'),
        ne(billingHibernations.isRestartRequested, true),
      ),
    )
}

/** Deletes the mark of a version. */
export async function deleteHibernation(db: Db, squidId: number): Promise<void> {
  await db.delete(billingHibernations).where(eq(billingHibernations.squidId, squidId))
}

/**
 * Returns this month's RPC requests of the organizations with a cap. `cap`: the lower of their own cap and the cap of
 * playgrounds.
 */
export async function listRpcUse(db: Db, now: Date): Promise<{ orgId: number; used: number; cap: number }[]> {
  const { rows } = await db.execute<{ orgId: number; used: number; cap: number }>(sql`
    select o.id as "orgId", q.used, c.cap
    from orgs o left join billing_accounts a on a.org_id = o.id
    cross join lateral (select least(case when o.is_playground then ${limits.playgroundRpcRequests}::bigint end,
      a.rpc_requests_cap) as cap) c
    join quota_usage q on q.org_id = o.id and q.quota = 'rpc' and q.month = ${firstDayOfMonth(now.getTime())}::date
    where o.deleted_at is null and c.cap is not null`)
  return rows
}
