import type { EndedCredentials, OauthProvider } from '@shoal/contract'
import type { App } from '../../app.ts'
import { invalidField, refuse } from '../../errors.ts'
import type { Actor } from '../call.ts'
import { getAccount, setPasswordHash } from './account-store.ts'
import { endCredentials, providersOf } from './end-credentials.ts'
import { passwordChangedMail } from './mails.ts'
import { hashPassword, verifyPassword } from './passwords.ts'
import { listApiTokenNames } from './store.ts'

/**
 * Changes the password. Ends all other sessions of the caller and, if requested, the API tokens. Returns the ended credentials and the
 * providers that can still be used to sign in.
 * @throws Refusal 400 for the field `oldPassword` if it is wrong, and for `newPassword` if it is the same; 405 if the account has no password
 */
export async function changePassword(
  app: App,
  actor: Actor,
  { oldPassword, newPassword, endApiTokens }: { oldPassword: string; newPassword: string; endApiTokens: boolean },
): Promise<{ ended: EndedCredentials; providers: OauthProvider[] }> {
  const user = await getAccount(app.db, actor.userId)
  if (user.passwordHash === null)
    throw refuse('NO_PASSWORD', 'Your account has no password yet. Sign out and use "Forgot password" to set one.')
  if (!(await verifyPassword(user.passwordHash, oldPassword)))
    throw invalidField('oldPassword', 'The current password is wrong')
  // A generated password expires, because the operator knows it.
  if (newPassword === oldPassword) throw invalidField('newPassword', 'Choose a password other than the current one')
  const passwordHash = await hashPassword(newPassword)
  const ended = await app.db.transaction(async (tx) => {
    await setPasswordHash(tx, user.id, passwordHash)
    const keptCredentials = { sessionId: actor.sessionId ?? undefined, apiTokens: !endApiTokens, providers: true }
    return await endCredentials(tx, user.id, keptCredentials)
  })
  const apiTokens = await listApiTokenNames(app.db, user.id)
  const providers = await providersOf(app.db, user.id)
  await app.mailer.send(passwordChangedMail(app.config, user, { ended, valid: { apiTokens, providers } }))
  return { ended, providers }
}
