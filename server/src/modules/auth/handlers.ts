import type { Contract } from '@shoal/contract'
import type { App } from '../../app.ts'
import type { Handlers, Request } from '../call.ts'
import type { Accounts } from './accounts.ts'
import { newChallenge } from './altcha.ts'
import { botCheckOptions, checkBot } from './bot-check.ts'
import { confirmEmail } from './confirm-email.ts'
import { fetchOauth, configuredProviders, finishOauth, startOauth } from './oauth.ts'
import { confirmRestore, sendRestoreLink } from './restore.ts'
import { checkPassword, signIn } from './sign-in.ts'
import { signUp } from './sign-up.ts'
import { endSession } from './store.ts'

export function authHandlers(app: App, accounts: Accounts): Handlers<Contract['auth']> {
  return {
    getOptions: async ({ request }) => ({
      oauth: configuredProviders(app),
      botCheck: botCheckOptions(app),
      outboxUrl: outboxUrl(app, request),
    }),
    getChallenge: async () => ({ contentType: 'application/json', body: JSON.stringify(await newChallenge(app)) }),
    signUp: async ({ body, request }) => {
      await checkBot(app, body.turnstileToken, request.ip)
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
      if (actor.sessionId) await endSession(app.db, actor.sessionId)
      return { success: true }
    },
    getOauthUrl: async ({ params, request }) => ({ url: startOauth(app, params.provider, request) }),
    signInWithOauth: async ({ params, body, request }) => {
      const identity = await fetchOauth(app, params.provider, body, request)
      return await request.inTransaction(async () => {
        const { token, userId, isNew } = await finishOauth(app, accounts, identity, request)
        request.audit({ userId, after: { isNewAccount: isNew } })
        return { token }
      })
    },
    restore: async ({ body }) => {
      await app.jobs.send(sendRestoreLink, { email: body.email })
      return { success: true }
    },
    confirmRestore: async ({ body, request }) => {
      const { id } = await confirmRestore(app, body, request)
      request.audit({ userId: id })
      return { success: true }
    },
    confirmEmail: async ({ query, request }) => {
      const account = await confirmEmail(app, query.code)
      if (account && !account.emailVerified) request.audit({ userId: account.id, after: { emailVerified: true } })
      return { redirect: `${app.config.publicUrl}/?emailConfirmed=${account !== null}` }
    },
  }
}

/** Only for requests that can open it: the outbox is served to this machine only. */
function outboxUrl({ config }: App, request: Request): string | null {
  return config.SHOAL_OUTBOX && !config.SHOAL_MAIL_URL && request.isLocal ? `${config.publicUrl}/outbox` : null
}
