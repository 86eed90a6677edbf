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
  takeInvitation,
  type RoleRow,
} from './role-store.ts'
import { getOrg, lockOrg } from './store.ts'

/**
 * Invites somebody by email. Who is invited again gets a new invitation, with the role of now; the old link is worth nothing.
 * Says nothing of whether the email has an account.
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
      throw invalidField('email', 'This user is a member of the organization already.')
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
 * @throws Refusal 404 when there is no such invitation to the caller's email
 */
export async function acceptInvite(
  app: App,
  actor: Actor,
  which: InvitationRef,
): Promise<{ code: string; orgId: number }> {
  return app.db.transaction(async (tx) => {
    const invitation = await findInvitation(tx, which, actor.email)
    if (!invitation) throw notFound('Invitation')
    await lockOrg(tx, invitation.orgId)
    if (await isMember(tx, invitation.orgId, actor.userId))
      throw refuse('ALREADY_MEMBER', 'You are a member of this organization already.')
    if (!(await takeInvitation(tx, which.id, actor.userId))) throw notFound('Invitation')
    return { code: which.code, orgId: invitation.orgId }
  })
}

/** @throws Refusal 404 when there is no such invitation to the caller's email */
export async function rejectInvite(
  app: App,
  actor: Actor,
  which: InvitationRef,
): Promise<{ code: string; orgId: number }> {
  const invitation = await findInvitation(app.db, which, actor.email)
  if (!invitation || !(await deleteInvitation(app.db, invitation.orgId, actor.email))) throw notFound('Invitation')
  return { code: which.code, orgId: invitation.orgId }
}
