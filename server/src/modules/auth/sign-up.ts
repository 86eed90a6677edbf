import type { App } from '../../app.ts'
import type { Request } from '../call.ts'
import type { Accounts, NewAccount } from './accounts.ts'
import { sendConfirmation } from './confirm-email.ts'
import { startSession } from './sessions.ts'

type SignUpInput = {
  email: string
  fullName: string
  password: string
  subscribeToNewsletter?: boolean | undefined
  policyAccepted?: true | undefined
}

/**
 * Makes an unconfirmed account and answers a session of it, whether or not the email has an account already: only its mailbox
 * is told (docs/decisions/0006-no-account-enumeration.md).
 * The bot check was passed before.
 */
export async function signUp(
  app: App,
  accounts: Accounts,
  given: SignUpInput,
  request: Request,
): Promise<{ token: string; userId: number }> {
  const account: NewAccount = {
    email: given.email,
    fullName: given.fullName,
    password: given.password,
    emailVerified: false,
    policyAccepted: given.policyAccepted ?? false,
    subscribesNewsletter: given.subscribeToNewsletter ?? false,
  }
  const { id } = await accounts.createUser(app, account)
  await app.jobs.send(sendConfirmation, { userId: id })
  return { token: await startSession(app, app.db, id, request), userId: id }
}
