import type { App } from '../../app.ts'
import type { Request } from '../call.ts'
import type { Accounts, NewAccount } from './accounts.ts'
import { confirmationQueue } from './confirm-email.ts'
import { startSession } from './sessions.ts'

type SignUpInput = {
  email: string
  fullName: string
  password: string
  subscribeToNewsletter?: boolean | undefined
  policyAccepted?: true | undefined
}

/**
 * Creates an unconfirmed account and returns its session token. If the email already has an account, the result is the same, and only the
 * owner of the mailbox is notified (docs/decisions/0006-no-account-enumeration.md). The caller must verify the bot check first.
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
  await app.jobs.send(confirmationQueue, { userId: id })
  return { token: await startSession(app, app.db, id, request), userId: id }
}
