import { IdParam, type Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import { endSessionsOf, sendConfirmation } from '../auth/index.ts'
import type { Handlers } from '../call.ts'
import { listInvitationsTo } from '../orgs/index.ts'
import { apiTokenAnswer, createApiToken } from './api-tokens.ts'
import { changePassword } from './change-password.ts'
import { profileOf } from './profile.ts'
import { sessionsOf } from './sessions.ts'
import { changeUser, deleteApiToken, getUser, listApiTokens } from './store.ts'

export function userHandlers(app: App): Handlers<Contract['user']> {
  return {
    get: async ({ actor }) => profileOf(app, await getUser(app.db, actor.userId)),
    update: async ({ actor, body, request }) => {
      const user = await changeUser(app.db, actor.userId, { fullName: body.fullName })
      request.audit({ before: { fullName: actor.fullName }, after: { fullName: user.fullName } })
      return profileOf(app, user)
    },
    completeOnboarding: async ({ actor, body, request }) => {
      const change = {
        ...(body.policyAccepted === undefined ? {} : { policyAccepted: body.policyAccepted }),
        ...(body.subscribeNewsletter === undefined ? {} : { subscribesNewsletter: body.subscribeNewsletter }),
        ...(body.onboardingForm === undefined ? {} : { onboardingForm: body.onboardingForm }),
      }
      const isChange = Object.keys(change).length > 0
      const user = isChange ? await changeUser(app.db, actor.userId, change) : await getUser(app.db, actor.userId)
      request.audit({ after: change })
      return profileOf(app, user)
    },
    changePassword: async ({ actor, body }) => {
      await changePassword(app, actor, body)
      return { success: true }
    },
    listInvites: async ({ actor }) => {
      const invitations = await listInvitationsTo(app.db, actor.email)
      return invitations.map(({ id, organization, invitedBy }) => ({ id, organization, invitedBy }))
    },
    resendConfirmation: async ({ actor }) => {
      await app.jobs.send(sendConfirmation, { userId: actor.userId })
      return { success: true }
    },
    listApiTokens: async ({ actor }) => (await listApiTokens(app.db, actor.userId)).map(apiTokenAnswer),
    createApiToken: async ({ actor, body, request }) => {
      const expiresAt = body.expiresAt ? new Date(body.expiresAt) : null
      const token = await createApiToken(app, { userId: actor.userId, name: body.name, expiresAt })
      request.audit({ subject: token.name, after: { id: token.id, prefix: token.prefix, expiresAt } })
      return token
    },
    deleteApiToken: async ({ actor, params, request }) => {
      const id = IdParam.safeParse(params.id)
      const token = id.success ? await deleteApiToken(app.db, actor.userId, id.data) : null
      if (!token) throw notFound('API token')
      request.audit({ subject: token.name, before: { id: token.id, prefix: token.prefix } })
      return apiTokenAnswer(token)
    },
    listSessions: ({ actor }) => sessionsOf(app, actor),
    endSessions: async ({ actor, request }) => {
      const ended = await endSessionsOf(app.db, actor.userId)
      request.audit({ after: { ended } })
      return { ended }
    },
  }
}
