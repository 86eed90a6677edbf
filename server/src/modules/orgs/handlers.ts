import { limits, type Contract } from '@shoal/contract'
import { parseId } from '../parse-id.ts'
import type { App } from '../../app.ts'
import { hours } from '../../clock.ts'
import { deleteApiTokensOfOrg, limitCalls, tokenRights } from '../auth/index.ts'
import type { Handlers } from '../call.ts'
import { createOrg } from './create-org.ts'
import { acceptInvite, inviteMember, rejectInvite } from './invitations.ts'
import { changeRole, lockMembership, removeMember, presentRole } from './members.ts'
import { verificationUrl } from './mails.ts'
import { presentOrg } from './present-org.ts'
import { sendOrgEmailConfirmation, confirmOrgEmail, resendOrgEmail } from './org-email.ts'
import { listRoles } from './role-store.ts'
import { changeOrg, getOrg, listOrgsOf, quotaUsed } from './store.ts'

/** How many confirmations of new addresses a user can send by changing the emails of organizations. */
const emailChangeLimit = { calls: 30, perMs: hours(1) }

export function orgsHandlers(app: App): Handlers<Contract['orgs']> {
  return {
    list: async ({ actor }) =>
      (await listOrgsOf(app.db, actor)).map((org) => presentOrg(org, tokenRights.roleWith(actor, org.roleType))),
    get: async ({ org }) => presentOrg(await getOrg(app.db, org.id), org.roleType),
    create: async ({ body, actor, request }) => {
      const isOwnEmail = body.email === actor.email
      const org = await createOrg(app, { ...body, adminId: actor.userId, isEmailConfirmed: isOwnEmail })
      const updated = isOwnEmail ? org : await sendOrgEmailConfirmation(app, org.id, body.email)
      request.audit({ orgIds: [org.id], subject: org.code, after: { name: org.name, email: body.email } })
      return presentOrg(updated, 'admin')
    },
    update: async ({ org, actor, body, request }) => {
      await lockMembership(app.db, org, actor, 'organization.write')
      const before = await getOrg(app.db, org.id)
      const { name, email } = body
      const newEmail = email && email !== before.email && email !== before.pendingEmail ? email : null
      // The limit of each mailbox does not prevent a user from sending emails to many mailboxes.
      if (newEmail !== null)
        await limitCalls(app, 'orgs.changeEmail', emailChangeLimit, { ip: request.ip, userId: actor.userId })
      let after = name === undefined ? before : await changeOrg(app.db, org.id, { name })
      if (newEmail !== null) after = await sendOrgEmailConfirmation(app, org.id, newEmail)
      request.audit({ subject: org.code, before: auditFieldsOf(before), after: auditFieldsOf(after) })
      return presentOrg(after, org.roleType)
    },
    sendVerifyEmail: async ({ org, body }) => {
      await resendOrgEmail(app, org.id, body?.email)
      return { success: true }
    },
    verifyEmail: async ({ body, request }) => {
      const { org, before } = await confirmOrgEmail(app, body.code)
      request.audit({ orgIds: [org.id], subject: org.code, before: { email: before }, after: { email: org.email } })
      return { code: org.code, name: org.name, email: org.email ?? '' }
    },
    openVerification: async ({ query }) => ({ redirect: verificationUrl(app.config, query.code) }),
    delete: async ({ org, actor, request }) => {
      await lockMembership(app.db, org, actor, 'organization.write')
      await changeOrg(app.db, org.id, { deletedAt: app.clock.now() })
      await deleteApiTokensOfOrg(app.db, org.id)
      request.audit({ subject: org.code, before: { name: org.name, status: org.status } })
      return { code: org.code }
    },
    listRoles: async ({ org }) => (await listRoles(app.db, org.id)).map(presentRole),
    inviteMember: async ({ org, actor, body, request }) => {
      const role = await inviteMember(app, org, actor, body)
      request.audit({ subject: role.email, after: { roleType: role.type } })
      return presentRole(role)
    },
    changeRole: async ({ org, actor, params, body, request }) => {
      const change = { id: parseId(params.id, 'Member'), type: body.roleType }
      const { role, before } = await changeRole(app, org, actor, change)
      request.audit({ subject: role.email, before: { roleType: before }, after: { roleType: role.type } })
      return presentRole(role)
    },
    removeMember: async ({ org, actor, params, request }) => {
      const role = await removeMember(app, org, actor, parseId(params.id, 'Member'))
      request.audit({ subject: role.email, before: { roleType: role.type } })
      return presentRole(role)
    },
    acceptInvite: async ({ actor, params, body, request }) => {
      const { code, orgId } = await acceptInvite(app, actor, { ...parseInvitationRef(params), key: body?.key })
      request.audit({ orgIds: [orgId], subject: actor.email })
      return { code }
    },
    rejectInvite: async ({ actor, params, body, request }) => {
      const { code, orgId } = await rejectInvite(app, actor, { ...parseInvitationRef(params), key: body?.key })
      request.audit({ orgIds: [orgId], subject: actor.email })
      return { code }
    },
    getQuotas: async ({ org }) => {
      if (!org.isPlayground) return []
      const usedRequests = await quotaUsed(app.db, org.id, 'rpc', app.clock.now())
      return [{ id: 'rpc', usage: String(usedRequests), capacity: String(limits.playgroundRpcRequests) }]
    },
  }
}

const auditFieldsOf = (org: { name: string | null; email: string | null; pendingEmail: string | null }) => ({
  name: org.name,
  email: org.email,
  pendingEmail: org.pendingEmail,
})

const parseInvitationRef = ({ code, id }: { code: string; id: string }) => ({
  code: code.toLowerCase(),
  id: parseId(id, 'Invitation'),
})
