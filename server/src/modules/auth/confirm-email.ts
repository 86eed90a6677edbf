import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import { invalidConfirmationLink, refuse } from '../../errors.ts'
import type { Actor } from '../call.ts'
import { addEmailLink, confirmAccount, findAccount, findConfirmedAccount, findEmailLink } from './account-store.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'
import { isMailAllowed } from './mail-limit.ts'
import { alreadySignedUpMail, confirmationMail } from './mails.ts'

export const confirmationQueue = { name: 'auth.sendConfirmation' }

const linkLifetimeMs = days(3)

/** Sends the confirmation email. Runs as a job, so that the response time of a sign-up does not reveal whether the email has an account. */
export async function sendConfirmation(app: App, userId: number): Promise<void> {
  const account = await findAccount(app.db, userId)
  if (!account || account.emailVerified || !(await isMailAllowed(app, 'confirm', account.email))) return
  const owner = await findConfirmedAccount(app.db, account.email)
  if (owner) return app.mailer.send(alreadySignedUpMail(app.config, owner))
  const code = await newEmailLink(app, 'confirm', account.id, linkLifetimeMs)
  await app.mailer.send(confirmationMail(app.config, account, code))
}

/** Creates an email link and returns its secret: 256 random bits, of which only the hash is stored. */
export async function newEmailLink(
  app: App,
  purpose: 'confirm' | 'restore',
  userId: number,
  lifetimeMs: number,
): Promise<string> {
  const secret = randomBytes(32).toString('base64url')
  const createdAt = app.clock.now()
  const expiresAt = new Date(createdAt.getTime() + lifetimeMs)
  await addEmailLink(app.db, { hash: hashSecret(secret), purpose, userId, createdAt, expiresAt })
  return secret
}

/**
 * Confirms the email of the caller's account. Merely opening the link confirms nothing: mail programs open links, and an attacker may have
 * created the account with this email and their own password.
 * @throws Refusal 400 for an invalid link, or one whose email another account has confirmed; 405 for a link of another account
 */
export async function confirmEmail(app: App, actor: Actor, code: string): Promise<void> {
  const now = app.clock.now()
  const account = await findEmailLink(app.db, 'confirm', hashSecret(code), now)
  if (!account) throw invalidConfirmationLink()
  if (account.id !== actor.userId)
    throw refuse('OTHER_ACCOUNT', `This link belongs to another account. You are signed in as ${actor.email}.`)
  if (!(await confirmAccount(app.db, account, now))) throw invalidConfirmationLink()
}
