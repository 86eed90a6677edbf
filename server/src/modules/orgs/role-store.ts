// Reads tables of other modules: users. Members are listed with their names and emails.

import type { RoleType } from '@shoal/contract'
import { and, count, eq, gt, isNotNull, isNull, sql } from '../../db/sql.ts'
import type { Db } from '../../db/database.ts'
import { users } from '../auth/index.ts'
import { orgs, roles } from './tables.ts'

const columns = {
  id: roles.id,
  orgId: roles.orgId,
  /** Null for an invitation. */
  userId: roles.userId,
  type: roles.type,
  email: sql<string>`coalesce(${users.email}, ${roles.email})`,
  fullName: users.fullName,
}

export type RoleRow = {
  id: number
  orgId: number
  userId: number | null
  type: RoleType
  email: string
  fullName: string | null
}

const selectRoles = (db: Db) => db.select(columns).from(roles).leftJoin(users, eq(users.id, roles.userId))

/** Returns the members of an organization, then its open invitations, both by email. */
export function listRoles(db: Db, orgId: number): Promise<RoleRow[]> {
  return selectRoles(db).where(eq(roles.orgId, orgId)).orderBy(isNull(roles.userId), columns.email)
}

/** Returns the member or open invitation with this id; null if the organization has none. */
export async function findRole(db: Db, orgId: number, id: number): Promise<RoleRow | null> {
  const [row] = await selectRoles(db).where(and(eq(roles.orgId, orgId), eq(roles.id, id)))
  return row ?? null
}

export async function addRole(db: Db, role: typeof roles.$inferInsert) {
  const [row] = await db.insert(roles).values(role).returning()
  if (!row) throw new Error('The role was not inserted')
  return row
}

export async function setRoleType(db: Db, id: number, type: RoleType): Promise<void> {
  await db.update(roles).set({ type }).where(eq(roles.id, id))
}

export async function deleteRole(db: Db, id: number): Promise<void> {
  await db.delete(roles).where(eq(roles.id, id))
}

/** Returns the number of administrators, without open invitations. */
export async function countAdmins(db: Db, orgId: number): Promise<number> {
  const [row] = await db
    .select({ admins: count() })
    .from(roles)
    .where(and(eq(roles.orgId, orgId), eq(roles.type, 'admin'), isNotNull(roles.userId)))
  return row?.admins ?? 0
}

/** Whether the user is a member. An open invitation does not count. */
export async function isMember(db: Db, orgId: number, userId: number): Promise<boolean> {
  const [row] = await db
    .select({ id: roles.id })
    .from(roles)
    .where(and(eq(roles.orgId, orgId), eq(roles.userId, userId)))
  return row !== undefined
}

/** Whether a member has this email. Open invitations do not count. */
export async function hasMemberWithEmail(db: Db, orgId: number, email: string): Promise<boolean> {
  const [row] = await db
    .select({ id: roles.id })
    .from(roles)
    .innerJoin(users, eq(users.id, roles.userId))
    .where(and(eq(roles.orgId, orgId), eq(users.email, email)))
  return row !== undefined
}

/** Returns the open invitations to this email that were created after `createdAfter`, to organizations that are not deleted. */
export function listInvitationsTo(db: Db, email: string, createdAfter: Date) {
  return db
    .select({
      id: roles.id,
      organization: { code: orgs.code, name: orgs.name },
      invitedBy: { email: users.email, fullName: users.fullName },
    })
    .from(roles)
    .innerJoin(orgs, eq(orgs.id, roles.orgId))
    .leftJoin(users, eq(users.id, roles.invitedBy))
    .where(and(eq(roles.email, email), gt(roles.createdAt, createdAfter), isNull(orgs.deletedAt)))
    .orderBy(roles.id)
}

/** Returns the open invitation with this id, email and organization, if it was created after `createdAfter`; null otherwise. */
export async function findInvitation(
  db: Db,
  { id, code }: { id: number; code: string },
  email: string,
  createdAfter: Date,
): Promise<{ orgId: number; secretHash: string | null } | null> {
  const [row] = await db
    .select({ orgId: roles.orgId, secretHash: roles.secretHash })
    .from(roles)
    .innerJoin(orgs, eq(orgs.id, roles.orgId))
    .where(
      and(
        eq(roles.id, id),
        eq(orgs.code, code),
        eq(roles.email, email),
        gt(roles.createdAt, createdAfter),
        isNull(orgs.deletedAt),
      ),
    )
  return row ?? null
}

/**
 * Turns an invitation into a membership. Returns false when the invitation was accepted, rejected or withdrawn in the meantime.
 */
export async function acceptInvitation(db: Db, id: number, userId: number): Promise<boolean> {
  const accepted = await db
    .update(roles)
    .set({ userId, email: null, secretHash: null })
    .where(and(eq(roles.id, id), isNull(roles.userId)))
    .returning({ id: roles.id })
  return accepted.length === 1
}

/** Deletes the open invitation to an email. Returns false when there is none. */
export async function deleteInvitation(db: Db, orgId: number, email: string): Promise<boolean> {
  const deleted = await db
    .delete(roles)
    .where(and(eq(roles.orgId, orgId), eq(roles.email, email)))
    .returning({ id: roles.id })
  return deleted.length > 0
}

/** Returns the emails of the administrators, without those of open invitations. */
export async function listAdminEmails(db: Db, orgId: number): Promise<string[]> {
  const rows = await db
    .select({ email: users.email })
    .from(roles)
    .innerJoin(users, eq(users.id, roles.userId))
    .where(and(eq(roles.orgId, orgId), eq(roles.type, 'admin')))
  return rows.map((row) => row.email)
}

/**
 * Returns the address for notifications: the organization's email or, for a playground, the user's. Null if it is not confirmed.
 */
export async function notificationEmail(db: Db, orgId: number): Promise<string | null> {
  const [row] = await db
    .select({ orgEmail: orgs.email, playgroundUserEmail: users.email })
    .from(orgs)
    .leftJoin(roles, and(eq(roles.orgId, orgs.id), eq(orgs.isPlayground, true), eq(roles.type, 'admin')))
    .leftJoin(users, and(eq(users.id, roles.userId), eq(users.emailVerified, true)))
    .where(eq(orgs.id, orgId))
    .limit(1)
  return row?.orgEmail ?? row?.playgroundUserEmail ?? null
}
