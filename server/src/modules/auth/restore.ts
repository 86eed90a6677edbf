import type { EndedCredentials } from '@shoal/contract'
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
import { hashSecret } from '../../sealing/hash-secret.ts'
import { newEmailLink } from './confirm-email.ts'
import { endCredentials } from './end-credentials.ts'
import { isMailAllowed } from './mail-limit.ts'
import { passwordChangedMail, restoreMail } from './mails.ts'
import { hashPassword } from './passwords.ts'
import { resetAttempts, recordKnownAddress } from './sign-in-attempts.ts'

export const restoreLinkQueue = { name: 'auth.sendRestoreLink' }

const linkLifetimeMs = hours(1)

/** Sends the recovery email. Runs as a job, so that neither the response nor its time reveals whether the email has an account. */
export async function sendRestoreLink(app: App, email: string): Promise<void> {
  const account = (await findConfirmedAccount(app.db, email)) ?? (await findUnconfirmedAccount(app.db, email))
  if (!account || !(await isMailAllowed(app, 'restore', email))) return
  const token = await newEmailLink(app, 'restore', account.id, linkLifetimeMs)
  await app.mailer.send(restoreMail(app.config, account, token))
}

/**
 * Sets a new password with the token of an emailed link, which also confirms the email. Revokes all other credentials of the account,
 * since an attacker may have created them.
 * @throws Refusal 400 for a link that is unknown, expired or already used
 */
export async function confirmRestore(
  app: App,
  { token, password }: { token: string; password: string },
  request: Request,
): Promise<{ account: Account; ended: EndedCredentials }> {
  const hash = hashSecret(token)
  const account = await findEmailLink(app.db, 'restore', hash, app.clock.now())
  if (!account) throw invalidLink()
  const passwordHash = await hashPassword(password)
  const ended = await app.db.transaction(async (tx) => {
    if (!(await consumeEmailLink(tx, 'restore', account.id, hash))) throw invalidLink()
    if (!(await confirmAccount(tx, account, app.clock.now()))) throw invalidLink()
    await setPasswordHash(tx, account.id, passwordHash)
    return await endCredentials(tx, account.id, {})
  })
  await resetAttempts(app, account.email, request.ip)
  await recordKnownAddress(app, account.id, request.ip)
  const valid = { apiTokens: [], providers: [] }
  await app.mailer.send(passwordChangedMail(app.config, account, { ended, valid }))
  return { account, ended }
}

const invalidLink = () =>
  invalid('LINK_INVALID', 'This link has been used or has expired. Please request a new recovery email.')
