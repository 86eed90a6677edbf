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
 * Creates an unconfirmed account and returns a session for it, whether or not the email has an account: only its mailbox is notified
 * (docs/decisions/0006-no-account-enumeration.md).
 * The bot check was passed before.
 */
export async function signUp(
  app: App,
  accounts: Accounts,
  input: SignUpInput,
  request: Request,
): Promise<{ token: string; userId: number }> {
  const account: NewAccount = {
    email: input.email,
    fullName: input.fullName,
    password: input.password,
    emailVerified: false,
    policyAccepted: input.policyAccepted ?? false,
    subscribesNewsletter: input.subscribeToNewsletter ?? false,
  }
  const { id } = await accounts.createUser(app, account)
  await app.jobs.send(sendConfirmation, { userId: id })
  return { token: await startSession(app, app.db, id, request), userId: id }
}
