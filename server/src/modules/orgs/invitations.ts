import type { RoleType } from '@shoal/contract'
import type { App } from '../../app.ts'
import { invalidField, notFound, refuse } from '../../errors.ts'
import { isMailAllowed } from '../auth/index.ts'
import type { Actor, OrgScope } from '../call.ts'
import { invitationMail } from './mails.ts'
import {
  addRole,
  deleteInvitation,
  findInvitation,
  hasMemberWithEmail,
  isMember,
  acceptInvitation,
  type RoleRow,
} from './role-store.ts'
import { getOrg, lockOrg } from './store.ts'

/**
 * Invites a user by email. Inviting again replaces the invitation and its role; the old link becomes invalid. Does not reveal
 * whether the email has an account.
 * @throws Refusal 400 on the field `email` when a member has it
 */
export async function inviteMember(
  app: App,
  org: OrgScope,
  actor: Actor,
  { email, roleType }: { email: string; roleType: RoleType },
): Promise<RoleRow> {
  const role = await app.db.transaction(async (tx) => {
    await lockOrg(tx, org.id)
    if (await hasMemberWithEmail(tx, org.id, email))
      throw invalidField('email', 'This user is already a member of the organization.')
    await deleteInvitation(tx, org.id, email)
    return addRole(tx, {
      orgId: org.id,
      email,
      type: roleType,
      invitedBy: actor.userId,
      createdAt: app.clock.now(),
    })
  })
  if (await isMailAllowed(app, 'invitation', email)) {
    const row = await getOrg(app.db, org.id)
    await app.mailer.send(
      invitationMail(app.config, { id: role.id, email, type: roleType, org: row, invitedBy: actor }),
    )
  }
  return { ...role, email, fullName: null }
}

type InvitationRef = { code: string; id: number }

/**
 * Makes the caller a member, once.
 * @throws Refusal 404 when the caller's email has no such invitation
 */
export async function acceptInvite(
  app: App,
  actor: Actor,
  invitationRef: InvitationRef,
): Promise<{ code: string; orgId: number }> {
  return app.db.transaction(async (tx) => {
    const invitation = await findInvitation(tx, invitationRef, actor.email)
    if (!invitation) throw notFound('Invitation')
    await lockOrg(tx, invitation.orgId)
    if (await isMember(tx, invitation.orgId, actor.userId))
      throw refuse('ALREADY_MEMBER', 'You are already a member of this organization.')
    if (!(await acceptInvitation(tx, invitationRef.id, actor.userId))) throw notFound('Invitation')
    return { code: invitationRef.code, orgId: invitation.orgId }
  })
}

/** @throws Refusal 404 when the caller's email has no such invitation */
export async function rejectInvite(
  app: App,
  actor: Actor,
  invitationRef: InvitationRef,
): Promise<{ code: string; orgId: number }> {
  const invitation = await findInvitation(app.db, invitationRef, actor.email)
  if (!invitation || !(await deleteInvitation(app.db, invitation.orgId, actor.email))) throw notFound('Invitation')
  return { code: invitationRef.code, orgId: invitation.orgId }
}
