import type { RoleType } from '@shoal/contract'
import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import { invalidField, notFound, refuse } from '../../errors.ts'
import { hashSecret, isSameSecret } from '../../sealing/hash-secret.ts'
import { isMailAllowed } from '../auth/index.ts'
import type { Actor, OrgScope } from '../call.ts'
import { invitationMail } from './mails.ts'
import { lockMembership } from './members.ts'
import {
  addRole,
  deleteInvitation,
  findInvitation,
  hasMemberWithEmail,
  isMember,
  listInvitationsTo,
  acceptInvitation,
  type RoleRow,
} from './role-store.ts'
import { getOrg, lockOrg } from './store.ts'

const lifetimeMs = days(14)

/**
 * Invites a user by email. A second invitation replaces the first one and its role, and makes the first link invalid. Does not
 * reveal whether the email has an account.
 * @throws Refusal 400 on the field `email` when a member has this email
 */
export async function inviteMember(
  app: App,
  org: OrgScope,
  actor: Actor,
  { email, roleType }: { email: string; roleType: RoleType },
): Promise<RoleRow> {
  const key = randomBytes(32).toString('base64url')
  const role = await app.db.transaction(async (tx) => {
    await lockMembership(tx, org, actor, 'role.write')
    if (await hasMemberWithEmail(tx, org.id, email))
      throw invalidField('email', 'This user is already a member of the organization.')
    await deleteInvitation(tx, org.id, email)
    return addRole(tx, {
      orgId: org.id,
      email,
      secretHash: hashSecret(key),
      type: roleType,
      invitedBy: actor.userId,
      createdAt: app.clock.now(),
    })
  })
  if (await isMailAllowed(app, 'invitation', email)) {
    const row = await getOrg(app.db, org.id)
    await app.mailer.send(
      invitationMail(app.config, { id: role.id, key, email, type: roleType, org: row, invitedBy: actor }),
    )
  }
  return { ...role, email, fullName: null }
}

/** `key`: the secret in the emailed link, if the caller has opened the link. */
type InvitationRef = { code: string; id: number; key?: string | undefined }

/**
 * Makes the caller a member. An invitation can be accepted only once.
 * @throws Refusal 404 when the caller's email has no such invitation, the invitation has expired, or the key is wrong; 405 when the key is
 * missing and the caller has not proven access to the mailbox, or when the caller is a member already
 */
export async function acceptInvite(
  app: App,
  actor: Actor,
  invitationRef: InvitationRef,
): Promise<{ code: string; orgId: number }> {
  return app.db.transaction(async (tx) => {
    const { orgId } = await requireInvitation(app, actor, invitationRef)
    await lockOrg(tx, orgId)
    if (await isMember(tx, orgId, actor.userId))
      throw refuse('ALREADY_MEMBER', 'You are already a member of this organization.')
    if (!(await acceptInvitation(tx, invitationRef.id, actor.userId))) throw notFound('Invitation')
    return { code: invitationRef.code, orgId }
  })
}

/**
 * Deletes the invitation.
 * @throws Refusal for the same reasons as `acceptInvite`, except that the caller may be a member
 */
export async function rejectInvite(
  app: App,
  actor: Actor,
  invitationRef: InvitationRef,
): Promise<{ code: string; orgId: number }> {
  const { orgId } = await requireInvitation(app, actor, invitationRef)
  if (!(await deleteInvitation(app.db, orgId, actor.email))) throw notFound('Invitation')
  return { code: invitationRef.code, orgId }
}

/** Returns the open invitations that the caller may accept without their links. */
export async function listInvitations(app: App, actor: Actor) {
  return actor.isEmailProven ? await listInvitationsTo(app.db, actor.email, minCreatedAt(app)) : []
}

/** Invitations that were created after this time have not expired. */
const minCreatedAt = ({ clock }: App) => new Date(clock.now().getTime() - lifetimeMs)

/**
 * Finds the invitation to the caller's email. The caller needs the secret in its link, or must have proven access to the mailbox.
 * A confirmed email is not enough, because an earlier release confirmed an email when anyone opened the link.
 */
async function requireInvitation(app: App, actor: Actor, { key, ...ref }: InvitationRef): Promise<{ orgId: number }> {
  const invitation = await findInvitation(app.db, ref, actor.email, minCreatedAt(app))
  if (!invitation) throw notFound('Invitation')
  if (key === undefined) {
    if (!actor.isEmailProven)
      throw refuse('INVITATION_LINK_NEEDED', 'Open the link in the email of the invitation to accept or reject it.')
  } else if (invitation.secretHash === null || !isSameSecret(hashSecret(key), invitation.secretHash))
    throw notFound('Invitation')
  return invitation
}
