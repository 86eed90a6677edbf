import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import {
  addEmailLink,
  confirmAccount,
  findAccount,
  findConfirmedAccount,
  findEmailLink,
  type Account,
} from './account-store.ts'
import { hashOf } from './api-token-key.ts'
import { isMailAllowed } from './mail-limit.ts'
import { alreadySignedUpMail, confirmationMail } from './mails.ts'

export const sendConfirmation = { name: 'auth.sendConfirmation' }

const linkLifetimeMs = days(3)

/** Runs as a job, so that the response time of a sign-up does not depend on whether the email has an account. */
export async function mailConfirmation(app: App, userId: number): Promise<void> {
  const account = await findAccount(app.db, userId)
  if (!account || account.emailVerified || !(await isMailAllowed(app, 'confirm', account.email))) return
  const owner = await findConfirmedAccount(app.db, account.email)
  if (owner) return app.mailer.send(alreadySignedUpMail(app.config, owner))
  const code = await newEmailLink(app, 'confirm', account.id, linkLifetimeMs)
  await app.mailer.send(confirmationMail(app.config, account, code))
}

/** Returns the link's secret: 256 random bits, stored as a hash only. */
export async function newEmailLink(
  app: App,
  purpose: 'confirm' | 'restore',
  userId: number,
  lifetimeMs: number,
): Promise<string> {
  const secret = randomBytes(32).toString('base64url')
  const createdAt = app.clock.now()
  const expiresAt = new Date(createdAt.getTime() + lifetimeMs)
  await addEmailLink(app.db, { hash: hashOf(secret), purpose, userId, createdAt, expiresAt })
  return secret
}

/**
 * The account that is now confirmed; null for an invalid link. A link stays valid until it expires, because mail programs open
 * links before users do.
 */
export async function confirmEmail(app: App, code: string): Promise<Account | null> {
  const account = await findEmailLink(app.db, 'confirm', hashOf(code), app.clock.now())
  if (!account) return null
  return (await confirmAccount(app.db, account)) ? account : null
}
