import type { OrgStatus, RoleType } from '@shoal/contract'
import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, sql } from 'drizzle-orm'
import type { Db } from '../../db/database.ts'
import type { OrgScope } from '../call.ts'
import { orgs, quotaUsage, roles } from './tables.ts'

export type OrgRow = typeof orgs.$inferSelect

const isNotDeleted = isNull(orgs.deletedAt)

/** The user's membership; null for other users, and for unknown or deleted organizations. */
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

/** The playground first, then by displayed name (spec 3). */
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
  if (!row) throw new Error(`Organization ${id} does not exist`)
  return row
}

export async function findOrgByCode(db: Db, code: string): Promise<OrgRow | null> {
  const [row] = await db
    .select()
    .from(orgs)
    .where(and(eq(orgs.code, code), isNotDeleted))
  return row ?? null
}

/** Null when the code is taken, also by a deleted organization that still has squids. */
export async function addOrg(db: Db, org: typeof orgs.$inferInsert): Promise<OrgRow | null> {
  const [row] = await db.insert(orgs).values(org).onConflictDoNothing({ target: orgs.code }).returning()
  return row ?? null
}

/** Whether the code belongs to a deleted organization whose removal has not finished. */
export async function isBeingDeleted(db: Db, code: string): Promise<boolean> {
  const found = await db
    .select({ id: orgs.id })
    .from(orgs)
    .where(and(eq(orgs.code, code), isNotNull(orgs.deletedAt)))
  return found.length > 0
}

export async function changeOrg(db: Db, id: number, change: Partial<typeof orgs.$inferInsert>): Promise<OrgRow> {
  const [row] = await db.update(orgs).set(change).where(eq(orgs.id, id)).returning()
  if (!row) throw new Error(`Organization ${id} does not exist`)
  return row
}

/**
 * Locks the organization until the transaction ends, against changes of its members and requests for deployments. Rows that only
 * refer to it, as counts and alerts do, can still be written. Null when it does not exist.
 */
export async function lockOrg(tx: Db, id: number): Promise<OrgRow | null> {
  const [org] = await tx.select().from(orgs).where(eq(orgs.id, id)).for('no key update')
  return org ?? null
}

/** With the App, or with `{ db: tx }` inside a transaction. */
export async function setOrgStatus({ db }: { db: Db }, id: number, status: OrgStatus): Promise<void> {
  await db.update(orgs).set({ status }).where(eq(orgs.id, id))
}

/** By the unexpired link that confirms its pending email. */
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

/** For accounts that were never confirmed and so could not use their playground. */
export async function deletePlaygroundsOf(db: Db, userIds: number[]): Promise<void> {
  const theirs = db.select({ orgId: roles.orgId }).from(roles).where(inArray(roles.userId, userIds))
  await db.delete(orgs).where(and(eq(orgs.isPlayground, true), inArray(orgs.id, theirs)))
}
