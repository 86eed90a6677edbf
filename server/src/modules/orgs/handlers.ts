import { IdParam, limits, type Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import type { Handlers } from '../call.ts'
import { createOrg } from './create-org.ts'
import { acceptInvite, inviteMember, rejectInvite } from './invitations.ts'
import { changeRole, removeMember, roleAnswer } from './members.ts'
import { orgAnswer } from './org-answer.ts'
import { sendOrgEmailConfirmation, confirmOrgEmail, resendOrgEmail } from './org-email.ts'
import { listRoles } from './role-store.ts'
import { changeOrg, getOrg, listOrgsOf, quotaUsed } from './store.ts'

export function orgsHandlers(app: App): Handlers<Contract['orgs']> {
  return {
    list: async ({ actor }) => (await listOrgsOf(app.db, actor.userId)).map((org) => orgAnswer(org, org.roleType)),
    get: async ({ org }) => orgAnswer(await getOrg(app.db, org.id), org.roleType),
    create: async ({ body, actor, request }) => {
      const isOwnEmail = body.email === actor.email
      const org = await createOrg(app, { ...body, adminId: actor.userId, isEmailConfirmed: isOwnEmail })
      const updated = isOwnEmail ? org : await sendOrgEmailConfirmation(app, org.id, body.email)
      request.audit({ orgId: org.id, subject: org.code, after: { name: org.name, email: body.email } })
      return orgAnswer(updated, 'admin')
    },
    update: async ({ org, body, request }) => {
      const before = await getOrg(app.db, org.id)
      let after = body.name === undefined ? before : await changeOrg(app.db, org.id, { name: body.name })
      const isNewEmail = body.email !== undefined && body.email !== before.email && body.email !== before.pendingEmail
      if (isNewEmail && body.email) after = await sendOrgEmailConfirmation(app, org.id, body.email)
      request.audit({ subject: org.code, before: namesOf(before), after: namesOf(after) })
      return orgAnswer(after, org.roleType)
    },
    sendVerifyEmail: async ({ org, body }) => {
      await resendOrgEmail(app, org.id, body?.email)
      return { success: true }
    },
    verifyEmail: async ({ query, request }) => {
      const confirmed = await confirmOrgEmail(app, query.code)
      if (!confirmed) return { redirect: `${app.config.publicUrl}/settings?emailVerified=false` }
      const { org, before } = confirmed
      request.audit({ orgId: org.id, subject: org.code, before: { email: before }, after: { email: org.email } })
      const to = new URLSearchParams({ emailVerified: 'true', organization: org.code })
      return { redirect: `${app.config.publicUrl}/settings?${to.toString()}` }
    },
    delete: async ({ org, request }) => {
      await changeOrg(app.db, org.id, { deletedAt: app.clock.now() })
      request.audit({ subject: org.code, before: { name: org.name, status: org.status } })
      return { code: org.code }
    },
    listRoles: async ({ org }) => (await listRoles(app.db, org.id)).map(roleAnswer),
    inviteMember: async ({ org, actor, body, request }) => {
      const role = await inviteMember(app, org, actor, body)
      request.audit({ subject: role.email, after: { roleType: role.type } })
      return roleAnswer(role)
    },
    changeRole: async ({ org, params, body, request }) => {
      const { role, before } = await changeRole(app, org, idOf(params.id, 'Member'), body.roleType)
      request.audit({ subject: role.email, before: { roleType: before }, after: { roleType: role.type } })
      return roleAnswer(role)
    },
    removeMember: async ({ org, actor, params, request }) => {
      const role = await removeMember(app, org, actor, idOf(params.id, 'Member'))
      request.audit({ subject: role.email, before: { roleType: role.type } })
      return roleAnswer(role)
    },
    acceptInvite: async ({ actor, params, request }) => {
      const { code, orgId } = await acceptInvite(app, actor, parseInvitationRef(params))
      request.audit({ orgId, subject: actor.email })
      return { code }
    },
    rejectInvite: async ({ actor, params, request }) => {
      const { code, orgId } = await rejectInvite(app, actor, parseInvitationRef(params))
      request.audit({ orgId, subject: actor.email })
      return { code }
    },
    getQuotas: async ({ org }) => {
      if (!org.isPlayground) return []
      const used = await quotaUsed(app.db, org.id, 'rpc', app.clock.now())
      return [{ id: 'rpc', usage: String(used), capacity: String(limits.playgroundRpcRequests) }]
    },
  }
}

const namesOf = (org: { name: string | null; email: string | null; pendingEmail: string | null }) => ({
  name: org.name,
  email: org.email,
  pendingEmail: org.pendingEmail,
})

/** @throws Refusal 404 when `text` is not an id */
function idOf(text: string, what: string): number {
  const parsed = IdParam.safeParse(text)
  if (!parsed.success) throw notFound(what)
  return parsed.data
}

const parseInvitationRef = ({ code, id }: { code: string; id: string }) => ({
  code: code.toLowerCase(),
  id: idOf(id, 'Invitation'),
})
