import type { OrgStatus, RoleType } from '@shoal/contract'
import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import type { OrgScope } from '../call.ts'
import { orgs, quotaUsage, roles } from './tables.ts'

export type OrgRow = typeof orgs.$inferSelect

const isNotDeleted = isNull(orgs.deletedAt)

/** What `userId` is in the organization; null for strangers, and when there is no such organization or it was deleted. */
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

/** The playground first, then by the name that is shown (spec 3). */
export function listOrgsOf(db: Db, userId: number): Promise<(OrgRow & { roleType: RoleType })[]> {
  return db
    .select({ org: orgs, roleType: roles.type })
    .from(roles)
    .innerJoin(orgs, eq(orgs.id, roles.orgId))
    .where(and(eq(roles.userId, userId), isNotDeleted))
    .orderBy(desc(orgs.isPlayground), sql`lower(coalesce(${orgs.name}, ${orgs.code}))`, asc(orgs.code))
    .then((rows) => rows.map((row) => ({ ...row.org, roleType: row.roleType })))
}

export async function getOrg(db: Db, id: number): Promise<OrgRow> {
  const [row] = await db.select().from(orgs).where(eq(orgs.id, id))
  if (!row) throw new Error(`Organization ${id} is gone`)
  return row
}

export async function findOrgByCode(db: Db, code: string): Promise<OrgRow | null> {
  const [row] = await db
    .select()
    .from(orgs)
    .where(and(eq(orgs.code, code), isNotDeleted))
  return row ?? null
}

/** Null when the code is taken, be it by a deleted organization whose squids are not gone yet. */
export async function addOrg(db: Db, org: typeof orgs.$inferInsert): Promise<OrgRow | null> {
  const [row] = await db.insert(orgs).values(org).onConflictDoNothing({ target: orgs.code }).returning()
  return row ?? null
}

/** Whether the code belongs to a deleted organization that is still being taken down. */
export async function isBeingDeleted(db: Db, code: string): Promise<boolean> {
  const found = await db
    .select({ id: orgs.id })
    .from(orgs)
    .where(and(eq(orgs.code, code), isNotNull(orgs.deletedAt)))
  return found.length > 0
}

export async function changeOrg(db: Db, id: number, change: Partial<typeof orgs.$inferInsert>): Promise<OrgRow> {
  const [row] = await db.update(orgs).set(change).where(eq(orgs.id, id)).returning()
  if (!row) throw new Error(`Organization ${id} is gone`)
  return row
}

/** Nobody else changes members of the organization until the transaction ends. */
export async function lockOrg(db: Db, id: number): Promise<void> {
  await db.select({ id: orgs.id }).from(orgs).where(eq(orgs.id, id)).for('update')
}

/** With the App, or with `{ db: tx }` inside a transaction. */
export async function setOrgStatus({ db }: { db: Db }, id: number, status: OrgStatus): Promise<void> {
  await db.update(orgs).set({ status }).where(eq(orgs.id, id))
}

/** By the link that confirms its pending email, as long as the link is good. */
export async function findOrgByEmailLink(db: Db, hash: string, now: Date): Promise<OrgRow | null> {
  const [row] = await db
    .select()
    .from(orgs)
    .where(and(eq(orgs.pendingEmailLinkHash, hash), gt(orgs.pendingEmailExpiresAt, now), isNotDeleted))
  return row ?? null
}

/** Requests used in the calendar month of `at`, UTC. */
export async function quotaUsed(db: Db, orgId: number, quota: 'rpc', at: Date): Promise<number> {
  const month = `${at.toISOString().slice(0, 7)}-01`
  const [row] = await db
    .select({ used: quotaUsage.used })
    .from(quotaUsage)
    .where(and(eq(quotaUsage.orgId, orgId), eq(quotaUsage.quota, quota), eq(quotaUsage.month, month)))
  return row?.used ?? 0
}

/** For accounts that were never confirmed: nobody could use theirs. */
export async function deletePlaygroundsOf(db: Db, userIds: number[]): Promise<void> {
  const theirs = db.select({ orgId: roles.orgId }).from(roles).where(inArray(roles.userId, userIds))
  await db.delete(orgs).where(and(eq(orgs.isPlayground, true), inArray(orgs.id, theirs)))
}
