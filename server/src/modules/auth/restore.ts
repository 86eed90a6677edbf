import type { App } from '../../app.ts'
import { hours } from '../../clock.ts'
import { invalid } from '../../errors.ts'
import type { Request } from '../call.ts'
import {
  confirmAccount,
  findConfirmedAccount,
  findEmailLink,
  findUnconfirmedAccount,
  setPasswordHash,
  consumeEmailLink,
  type Account,
} from './account-store.ts'
import { hashOf } from './api-token-key.ts'
import { newEmailLink } from './confirm-email.ts'
import { isMailAllowed } from './mail-limit.ts'
import { passwordChangedMail, restoreMail } from './mails.ts'
import { hashPassword } from './passwords.ts'
import { resetAttempts, trustAddress } from './sign-in-attempts.ts'
import { endSessionsOf } from './store.ts'

export const sendRestoreLink = { name: 'auth.sendRestoreLink' }

const linkLifetimeMs = hours(1)

/** Runs as a job, so that the response and its time do not depend on whether the email has an account. */
export async function mailRestoreLink(app: App, email: string): Promise<void> {
  const account = (await findConfirmedAccount(app.db, email)) ?? (await findUnconfirmedAccount(app.db, email))
  if (!account || !(await isMailAllowed(app, 'restore', email))) return
  const token = await newEmailLink(app, 'restore', account.id, linkLifetimeMs)
  await app.mailer.send(restoreMail(app.config, account, token))
}

/**
 * Sets a new password by a mailed link, which also proves the email. Ends all sessions.
 * @throws Refusal 400 for a link that is unknown, expired or already used
 */
export async function confirmRestore(
  app: App,
  { token, password }: { token: string; password: string },
  request: Request,
): Promise<Account> {
  const hash = hashOf(token)
  const account = await findEmailLink(app.db, 'restore', hash, app.clock.now())
  if (!account) throw linkInvalid()
  const passwordHash = await hashPassword(password)
  await app.db.transaction(async (tx) => {
    if (!(await consumeEmailLink(tx, 'restore', account.id, hash))) throw linkInvalid()
    if (!(await confirmAccount(tx, account))) throw linkInvalid()
    await setPasswordHash(tx, account.id, passwordHash)
    await endSessionsOf(tx, account.id)
  })
  await resetAttempts(app, account.email)
  await trustAddress(app, account.id, request.ip)
  await app.mailer.send(passwordChangedMail(app.config, account))
  return account
}

const linkInvalid = () =>
  invalid('LINK_INVALID', 'This link has been used or has expired. Please request a new recovery email.')
