import type { OrgStatus, RoleType } from '@shoal/contract'
import { dayOf, firstDayOfMonth } from '../../clock.ts'
import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { deleteInBatches } from '../../db/delete-in-batches.ts'
import type { Actor, OrgScope } from '../call.ts'
import { reserveFormerCode } from './former-codes-store.ts'
import { orgs, quotaUsage, roles } from './tables.ts'

export type OrgRow = typeof orgs.$inferSelect

const isNotDeleted = isNull(orgs.deletedAt)

/** Returns the user's membership; null if the user is not a member, or the organization does not exist or is deleted. */
export async function findMembership(db: Db, code: string, userId: number): Promise<OrgScope | null> {
  const [row] = await db
    .select({
      id: orgs.id,
      code: orgs.code,
      name: orgs.name,
      status: orgs.status,
      isPlayground: orgs.isPlayground,
      squidsLimit: orgs.squidsLimit,
      roleType: roles.type,
      roleId: roles.id,
    })
    .from(roles)
    .innerJoin(orgs, eq(orgs.id, roles.orgId))
    .where(and(eq(orgs.code, code), eq(roles.userId, userId), isNotDeleted))
  return row ?? null
}

/**
 * Returns an organization, with the role of a viewer, for an operator who reads it for support. Null if it does not exist or is
 * deleted.
 */
export async function findSupported(db: Db, code: string, orgId: number): Promise<OrgScope | null> {
  const org = await findOrgByCode(db, code)
  if (!org || org.id !== orgId) return null
  const { id, name, status, isPlayground, squidsLimit } = org
  return { id, code: org.code, name, status, isPlayground, squidsLimit, roleType: 'viewer', roleId: 0 }
}

/**
 * Returns the organizations that the caller may access: all organizations of the user, or only that of the API token. The
 * playground is first; the others are sorted by the name that the console displays (spec 3).
 */
export function listOrgsOf(
  db: Db,
  { userId, tokenOrgId }: Pick<Actor, 'userId' | 'tokenOrgId'>,
): Promise<(OrgRow & { roleType: RoleType })[]> {
  return db
    .select({ org: orgs, roleType: roles.type })
    .from(roles)
    .innerJoin(orgs, eq(orgs.id, roles.orgId))
    .where(and(eq(roles.userId, userId), isNotDeleted, tokenOrgId === null ? undefined : eq(orgs.id, tokenOrgId)))
    .orderBy(desc(orgs.isPlayground), sql`lower(coalesce(${orgs.name}, ${orgs.code}))`, asc(orgs.code))
    .then((rows) => rows.map((row) => ({ ...row.org, roleType: row.roleType })))
}

/** Returns an organization, even if it is deleted. @throws Error if it does not exist */
export async function getOrg(db: Db, id: number): Promise<OrgRow> {
  const [row] = await db.select().from(orgs).where(eq(orgs.id, id))
  if (!row) throw new Error(`Organization ${id} does not exist`)
  return row
}

/** Returns the organization with a code; null if there is none, or it is deleted. */
export async function findOrgByCode(db: Db, code: string): Promise<OrgRow | null> {
  const [row] = await db
    .select()
    .from(orgs)
    .where(and(eq(orgs.code, code), isNotDeleted))
  return row ?? null
}

/** Inserts an organization. Returns null when the code is taken, possibly by an organization that is being deleted. */
export async function addOrg(db: Db, org: typeof orgs.$inferInsert): Promise<OrgRow | null> {
  const [row] = await db.insert(orgs).values(org).onConflictDoNothing({ target: orgs.code }).returning()
  return row ?? null
}

/** Whether the code belongs to a deleted organization whose removal has not finished. */
export async function isBeingDeleted(db: Db, code: string): Promise<boolean> {
  const deleted = await db
    .select({ id: orgs.id })
    .from(orgs)
    .where(and(eq(orgs.code, code), isNotNull(orgs.deletedAt)))
  return deleted.length > 0
}

/** Changes an organization and returns its new row. @throws Error if it does not exist */
export async function changeOrg(db: Db, id: number, change: Partial<typeof orgs.$inferInsert>): Promise<OrgRow> {
  const [row] = await db.update(orgs).set(change).where(eq(orgs.id, id)).returning()
  if (!row) throw new Error(`Organization ${id} does not exist`)
  return row
}

/**
 * Locks the organization until the transaction ends, so that its members do not change and no deployment is requested
 * concurrently. Other transactions can still write rows that only refer to it, such as counts and alerts. Returns null when the
 * organization does not exist.
 */
export async function lockOrg(tx: Db, id: number): Promise<OrgRow | null> {
  const [org] = await tx.select().from(orgs).where(eq(orgs.id, id)).for('no key update')
  return org ?? null
}

/**
 * Deletes the row of an organization, with everything that refers to it, and reserves its code. The caller must have locked it and deleted
 * its versions.
 */
export async function deleteOrg(tx: Db, id: number, now: Date): Promise<void> {
  await reserveFormerCode(tx, id, now)
  await tx.delete(orgs).where(eq(orgs.id, id))
}

/** Sets the account status. In a transaction, pass `{ db: tx }` instead of the app. */
export async function setOrgStatus({ db }: { db: Db }, id: number, status: OrgStatus): Promise<void> {
  await db.update(orgs).set({ status }).where(eq(orgs.id, id))
}

/**
 * Returns the organization whose pending email a link confirms. `hash` is the hash of the secret in the link. Null if the link is invalid or
 * expired.
 */
export async function findOrgByEmailLink(db: Db, hash: string, now: Date): Promise<OrgRow | null> {
  const [row] = await db
    .select()
    .from(orgs)
    .where(and(eq(orgs.pendingEmailLinkHash, hash), gt(orgs.pendingEmailExpiresAt, now), isNotDeleted))
  return row ?? null
}

/** Returns the used part of a quota in the calendar month of `at`, in UTC. */
export async function quotaUsed(db: Db, orgId: number, quota: 'rpc', at: Date): Promise<number> {
  const month = firstDayOfMonth(at.getTime())
  const [row] = await db
    .select({ used: quotaUsage.used })
    .from(quotaUsage)
    .where(and(eq(quotaUsage.orgId, orgId), eq(quotaUsage.quota, quota), eq(quotaUsage.month, month)))
  return row?.used ?? 0
}

export type QuotaUse = { orgId: number; quota: 'rpc'; month: string; used: number }

/**
 * Adds `uses` to the monthly totals, and returns the new totals. `month`: the first day of the month, `yyyy-MM-01`. Ignores
 * organizations whose row does not exist.
 */
export async function addQuotaUse(db: Db, uses: QuotaUse[]): Promise<QuotaUse[]> {
  if (uses.length === 0) return []
  const rows = JSON.stringify(uses.map((use) => ({ ...use, org_id: use.orgId })))
  // Sorted, so that the statements of two gateways cannot deadlock.
  const result = await db.execute<QuotaUse>(sql`
    insert into quota_usage (org_id, quota, month, used)
    select t.org_id, t.quota, t.month, sum(t.used)
    from jsonb_to_recordset(${rows}::jsonb) as t (org_id bigint, quota text, month date, used bigint)
    join orgs on orgs.id = t.org_id
    group by 1, 2, 3 order by 1, 2, 3
    on conflict (org_id, quota, month) do update set used = quota_usage.used + excluded.used
    returning org_id as "orgId", quota, to_char(month, 'YYYY-MM-DD') as month, used`)
  return result.rows
}

/** Deletes the usage of quotas in months that began before `at`. Returns the number of deleted rows. */
export async function deleteQuotaUseBefore(db: Db, at: Date): Promise<number> {
  return await deleteInBatches(db, quotaUsage, sql`month < ${dayOf(at.getTime())}`)
}

/** Deletes the playgrounds of users. The users must be unconfirmed accounts, which could never use their playgrounds. */
export async function deletePlaygroundsOf(db: Db, userIds: number[]): Promise<void> {
  const orgIdsOfUsers = db.select({ orgId: roles.orgId }).from(roles).where(inArray(roles.userId, userIds))
  await db.delete(orgs).where(and(eq(orgs.isPlayground, true), inArray(orgs.id, orgIdsOfUsers)))
}
