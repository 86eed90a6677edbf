import type { App } from '../../app.ts'
import { invalidField, refuse } from '../../errors.ts'
import { endSessionsOf, hashPassword, isPassword, passwordChangedMail } from '../auth/index.ts'
import type { Actor } from '../call.ts'
import { changeUser, getUser } from './store.ts'

/**
 * Changes the password and ends all other sessions of the caller.
 * @throws Refusal 400 on the field `oldPassword` when it is wrong; 405 when the account has none
 */
export async function changePassword(
  app: App,
  actor: Actor,
  { oldPassword, newPassword }: { oldPassword: string; newPassword: string },
): Promise<void> {
  const user = await getUser(app.db, actor.userId)
  if (user.passwordHash === null)
    throw refuse('NO_PASSWORD', 'Your account has no password yet. Sign out and use "Forgot password" to set one.')
  if (!(await isPassword(user.passwordHash, oldPassword)))
    throw invalidField('oldPassword', 'The current password is wrong')
  const passwordHash = await hashPassword(newPassword)
  await app.db.transaction(async (tx) => {
    await changeUser(tx, user.id, { passwordHash })
    await endSessionsOf(tx, user.id, actor.sessionId ?? undefined)
  })
  await app.mailer.send(passwordChangedMail(app.config, user))
}
