import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import { isOutboxKey, outboxCookie, outboxUrl } from '../../mail/index.ts'
import type { Handlers } from '../call.ts'
import type { Accounts } from './accounts.ts'
import { newChallenge } from './altcha.ts'
import { botCheckOptions, requireBotCheck } from './bot-check.ts'
import { confirmEmail } from './confirm-email.ts'
import { confirmationUrl } from './mails.ts'
import { fetchOauthIdentity, configuredProviders, finishOauth, startOauth } from './oauth.ts'
import { confirmRestore, restoreLinkQueue } from './restore.ts'
import { checkPassword, signIn } from './sign-in.ts'
import { signUp } from './sign-up.ts'
import { deleteSession } from './store.ts'

export function authHandlers(app: App, accounts: Accounts): Handlers<Contract['auth']> {
  return {
    getOptions: async ({ request }) => ({
      oauth: configuredProviders(app),
      botCheck: botCheckOptions(app),
      hasOutbox: app.outboxKey !== null,
      outboxUrl: isOutboxKey(app, request.cookie(outboxCookie)) ? outboxUrl(app.config) : null,
    }),
    getChallenge: async () => ({ contentType: 'application/json', body: JSON.stringify(await newChallenge(app)) }),
    signUp: async ({ body, request }) => {
      await requireBotCheck(app, body.turnstileToken, request.ip)
      return await request.inTransaction(async () => {
        const { token, userId } = await signUp(app, accounts, body, request)
        request.audit({ userId, subject: body.email })
        return { token }
      })
    },
    signIn: async ({ body, request }) => {
      const user = await checkPassword(app, body, request)
      return await request.inTransaction(async () => {
        request.audit({ userId: user.id })
        return { token: await signIn(app, user, request) }
      })
    },
    signOut: async ({ actor }) => {
      if (actor.sessionId) await deleteSession(app.db, actor.sessionId)
      return { success: true }
    },
    getOauthUrl: async ({ params, request }) => ({ url: startOauth(app, params.provider, request) }),
    signInWithOauth: async ({ params, body, request }) => {
      const identity = await fetchOauthIdentity(app, params.provider, body, request)
      return await request.inTransaction(async () => {
        const { token, userId, isNew, ended } = await finishOauth(app, accounts, identity, request)
        request.audit({ userId, after: { isNewAccount: isNew, ...(ended && { ended }) } })
        return { token }
      })
    },
    restore: async ({ body }) => {
      await app.jobs.send(restoreLinkQueue, { email: body.email })
      return { success: true }
    },
    confirmRestore: async ({ body, request }) => {
      const { account, ended } = await confirmRestore(app, body, request)
      request.audit({ userId: account.id, after: { ended } })
      return { success: true, ended }
    },
    confirmEmail: async ({ actor, body, request }) => {
      await confirmEmail(app, actor, body.code)
      request.audit({
        subject: actor.email,
        before: { emailVerified: actor.emailVerified },
        after: { emailVerified: true },
      })
      return { success: true }
    },
    openConfirmation: async ({ query }) => ({ redirect: confirmationUrl(app.config, query) }),
  }
}
