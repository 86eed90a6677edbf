import { reasonDenied, type Permission, type Role, type RoleType } from '@shoal/contract'
import type { App } from '../../app.ts'
import type { Db } from '../../db/database.ts'
import { notFound, refuse } from '../../errors.ts'
import type { Actor, OrgScope } from '../call.ts'
import { countAdmins, deleteRole, findRole, setRoleType, type RoleRow } from './role-store.ts'
import { findMembership, lockOrg } from './store.ts'

export const presentRole = ({ id, type, email, fullName, userId }: RoleRow): Role => ({
  id,
  type,
  email,
  fullName,
  status: userId === null ? 'invited' : 'accepted',
})

/**
 * Locks the organization until the transaction ends, and reads the caller's membership again, because the role may have changed while the
 * request waited for the lock. Every change of an organization's administrators must start with this call.
 * @throws Refusal 404 when the caller is no longer a member; 405 when the role lacks `permission`
 */
export async function lockMembership(
  tx: Db,
  org: Pick<OrgScope, 'id' | 'code'>,
  actor: Actor,
  permission?: Permission,
): Promise<OrgScope> {
  await lockOrg(tx, org.id)
  const membership = await findMembership(tx, org.code, actor.userId)
  if (membership?.id !== org.id) throw notFound('Organization')
  const reason = permission ? reasonDenied(membership, permission) : null
  if (reason) throw refuse('NOT_ALLOWED', reason)
  return membership
}

/**
 * Changes the role of a member. The role of an open invitation cannot be changed: invite again instead (spec 6).
 * @throws Refusal 404 for an unknown member; 405 for a caller without the permission, their own role, an open invitation, or the
 * last administrator
 */
export async function changeRole(
  app: App,
  org: OrgScope,
  actor: Actor,
  { id, type }: { id: number; type: RoleType },
): Promise<{ role: RoleRow; before: RoleType }> {
  return app.db.transaction(async (tx) => {
    const { roleId } = await lockMembership(tx, org, actor, 'role.write')
    const role = await findRole(tx, org.id, id)
    if (!role) throw notFound('Member')
    if (role.id === roleId) throw refuse('OWN_ROLE', 'You cannot change your own role.')
    if (role.userId === null)
      throw refuse('INVITATION_OPEN', 'The role of an open invitation cannot be changed. Remove it and invite again.')
    if (type !== 'admin') await requireOtherAdmin(tx, role)
    await setRoleType(tx, id, type)
    return { role: { ...role, type }, before: role.type }
  })
}

/**
 * Removes a member or an invitation. Members may always remove themselves, except the last administrator.
 * @throws Refusal 404 for an unknown member; 405 for a playground, a caller without the permission, or the last administrator
 * (spec 6)
 */
export async function removeMember(app: App, org: OrgScope, actor: Actor, id: number): Promise<RoleRow> {
  return app.db.transaction(async (tx) => {
    const membership = await lockMembership(tx, org, actor)
    const reason = reasonDenied(membership, 'role.write')
    if (membership.isPlayground) throw refuse('NOT_ALLOWED', reason ?? 'The playground is personal.')
    if (id !== membership.roleId && reason) throw refuse('NOT_ALLOWED', reason)
    const role = await findRole(tx, org.id, id)
    if (!role) throw notFound('Member')
    await requireOtherAdmin(tx, role)
    await deleteRole(tx, id)
    return role
  })
}

/** @throws Refusal 405 with the text of spec 6 when `role` is the role of the last administrator */
async function requireOtherAdmin(tx: Db, { orgId, userId, type }: RoleRow): Promise<void> {
  const isAdmin = userId !== null && type === 'admin'
  if (isAdmin && (await countAdmins(tx, orgId)) === 1) throw refuse('LAST_ADMIN', 'Assign another user as admin')
}
