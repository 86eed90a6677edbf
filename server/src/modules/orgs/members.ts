import { whyNot, type Role, type RoleType } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notFound, refuse } from '../../errors.ts'
import type { Actor, OrgScope } from '../call.ts'
import { addRole, countAdmins, deleteRole, findRole, setRoleType, type RoleRow } from './role-store.ts'
import { lockOrg } from './store.ts'

export const roleAnswer = ({ id, type, email, fullName, userId }: RoleRow): Role => ({
  id,
  type,
  email,
  fullName,
  status: userId === null ? 'invited' : 'accepted',
})

/** Adds a member without an invitation; returns the id of the role. For the operator and tests. */
export async function addMember(app: App, member: { orgId: number; userId: number; type: RoleType }): Promise<number> {
  const role = await addRole(app.db, { ...member, createdAt: app.clock.now() })
  return role.id
}

/**
 * Changes the role of a member. The role of an open invitation is fixed: invite again instead (spec 6).
 * @throws Refusal 404; 405 for the caller's own role
 */
export async function changeRole(
  app: App,
  org: OrgScope,
  id: number,
  type: RoleType,
): Promise<{ role: RoleRow; before: RoleType }> {
  const role = await findRole(app.db, org.id, id)
  if (!role) throw notFound('Member')
  if (role.id === org.roleId) throw refuse('OWN_ROLE', 'You cannot change your own role.')
  if (role.userId === null)
    throw refuse('INVITATION_OPEN', 'The role of an open invitation cannot be changed. Remove it and invite again.')
  await setRoleType(app.db, id, type)
  return { role: { ...role, type }, before: role.type }
}

/**
 * Removes a member or an invitation. Members may always remove themselves, except the last administrator.
 * @throws Refusal 404; 405 with the reason, spec 6's for the last administrator
 */
export async function removeMember(app: App, org: OrgScope, actor: Actor, id: number): Promise<RoleRow> {
  const isOwn = id === org.roleId
  const reason = whyNot(org, 'role.write')
  if (org.isPlayground) throw refuse('NOT_ALLOWED', reason ?? 'The playground is personal.')
  if (!isOwn && reason) throw refuse('NOT_ALLOWED', reason)
  return app.db.transaction(async (tx) => {
    // The last two administrators must not remove themselves concurrently.
    await lockOrg(tx, org.id)
    const role = await findRole(tx, org.id, id)
    if (!role) throw notFound('Member')
    const isLastAdmin = role.userId !== null && role.type === 'admin' && (await countAdmins(tx, org.id)) === 1
    if (isLastAdmin) throw refuse('LAST_ADMIN', 'Assign another user as admin')
    await deleteRole(tx, id)
    return role
  })
}
