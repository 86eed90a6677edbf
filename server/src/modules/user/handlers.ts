import type { Contract, User } from '@shoal/contract'
import { parseId } from '../parse-id.ts'
import type { App } from '../../app.ts'
import { notFound, Refusal } from '../../errors.ts'
import {
  changeAccount,
  changePassword,
  confirmationQueue,
  deleteApiToken,
  endSessionsOf,
  getAccount,
  listSessions,
  tokenRights,
} from '../auth/index.ts'
import type { Actor, Handlers } from '../call.ts'
import { getOrg, listInvitations, listOrgsOf, presentOrg } from '../orgs/index.ts'
import { findMaintenance, isScreenShown } from './maintenance-store.ts'
import { presentApiToken, createApiToken } from './api-tokens.ts'
import { findApiToken, listApiTokens, type UserRow } from './store.ts'

export function userHandlers(app: App): Handlers<Contract['user']> {
  return {
    get: async ({ actor }) => {
      const profile = await profileOf(app, actor, await getAccount(app.db, actor.userId))
      if (actor.sessionId !== null && !profile.isOperator && isScreenShown(profile.maintenance, app.clock.now()))
        throw new Refusal(503, 'MAINTENANCE', `Shoal is under maintenance: ${profile.maintenance?.message ?? ''}`)
      return profile
    },
    update: async ({ actor, body, request }) => {
      const user = await changeAccount(app.db, actor.userId, { fullName: body.fullName })
      request.audit({ before: { fullName: actor.fullName }, after: { fullName: user.fullName } })
      return profileOf(app, actor, user)
    },
    completeOnboarding: async ({ actor, body, request }) => {
      const change = {
        ...(body.policyAccepted === undefined ? {} : { policyAccepted: body.policyAccepted }),
        ...(body.subscribeNewsletter === undefined ? {} : { subscribesNewsletter: body.subscribeNewsletter }),
        ...(body.onboardingForm === undefined ? {} : { onboardingForm: body.onboardingForm }),
      }
      const hasChanges = Object.keys(change).length > 0
      const user = hasChanges
        ? await changeAccount(app.db, actor.userId, change)
        : await getAccount(app.db, actor.userId)
      request.audit({ after: change })
      return profileOf(app, actor, user)
    },
    changePassword: async ({ actor, body, request }) => {
      const { ended, providers } = await changePassword(app, actor, body)
      request.audit({ after: { ended } })
      return { success: true, ended, providers }
    },
    listInvites: async ({ actor }) => {
      const invitations = await listInvitations(app, actor)
      return invitations.map(({ id, organization, invitedBy }) => ({ id, organization, invitedBy }))
    },
    resendConfirmation: async ({ actor }) => {
      await app.jobs.send(confirmationQueue, { userId: actor.userId })
      return { success: true }
    },
    listApiTokens: async ({ actor }) => (await listApiTokens(app.db, actor.userId)).map(presentApiToken),
    createApiToken: async ({ actor, body, request }) => {
      const expiresAt = body.expiresAt ? new Date(body.expiresAt) : null
      const { name, scope, organization } = body
      const token = await createApiToken(app, { userId: actor.userId, name, expiresAt, scope, organization })
      request.audit({ subject: name, after: { id: token.id, prefix: token.prefix, expiresAt, scope, organization } })
      return token
    },
    deleteApiToken: async ({ actor, params, request }) => {
      const token = await findApiToken(app.db, actor.userId, parseId(params.id, 'API token'))
      if (!token) throw notFound('API token')
      await deleteApiToken(app.db, actor.userId, token.id)
      request.audit({ subject: token.name, before: { id: token.id, prefix: token.prefix } })
      return presentApiToken(token)
    },
    listSessions: ({ actor }) => listSessions(app, actor.userId, actor.sessionId),
    endSessions: async ({ actor, request }) => {
      const ended = await endSessionsOf(app.db, actor.userId)
      request.audit({ after: { ended } })
      return { ended }
    },
  }
}

/** The user's profile as the API returns it to the user. */
async function profileOf(app: App, actor: Actor, user: UserRow): Promise<User> {
  const [orgs, supported, maintenance] = await Promise.all([
    listOrgsOf(app.db, actor),
    actor.support ? getOrg(app.db, actor.support.orgId) : null,
    findMaintenance(app.db, app.clock.now()),
  ])
  const isSupport = supported && supported.deletedAt === null && !orgs.some(({ id }) => id === supported.id)
  return {
    id: user.id,
    email: user.email,
    username: user.email.split('@')[0] ?? user.email,
    fullName: user.fullName,
    emailVerified: user.emailVerified,
    avatarUrl: user.avatarUrl,
    // An API token cannot call the endpoints of operators.
    isOperator: user.isOperator && actor.sessionId !== null,
    policyAccepted: user.policyAccepted,
    onboardingForm: user.onboardingForm,
    organizations: [
      ...orgs.map((org) => presentOrg(org, tokenRights.roleWith(actor, org.roleType))),
      ...(isSupport ? [presentOrg(supported, 'viewer')] : []),
    ],
    support: actor.support && isSupport ? { code: supported.code, until: actor.support.until.toISOString() } : null,
    maintenance,
  }
}
