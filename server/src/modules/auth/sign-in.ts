import type { App } from '../../app.ts'
import { Refusal } from '../../errors.ts'
import type { Request } from '../call.ts'
import { findConfirmedAccount, findUnconfirmedAccount, type Account } from './account-store.ts'
import { isPassword } from './passwords.ts'
import { startSession } from './sessions.ts'
import { consumeAttempt, trustAddress } from './sign-in-attempts.ts'

/**
 * The account with this email and password. Only failures stay counted. Always verifies two passwords, real or not, so that the
 * response time does not reveal accounts (docs/decisions/0006-no-account-enumeration.md).
 * @throws Refusal 401 with spec 8's text; 429
 */
export async function checkPassword(
  app: App,
  { email, password }: { email: string; password: string },
  request: Request,
): Promise<Account> {
  const confirmed = await findConfirmedAccount(app.db, email)
  const unconfirmed = await findUnconfirmedAccount(app.db, email)
  const refund = await consumeAttempt(app, { email, ownerId: confirmed?.id ?? null, ip: request.ip })
  const [isConfirmeds, isUnconfirmeds] = await Promise.all([
    isPassword(confirmed?.passwordHash, password),
    isPassword(unconfirmed?.passwordHash, password),
  ])
  const user = isConfirmeds ? confirmed : isUnconfirmeds ? unconfirmed : null
  if (!user) throw new Refusal(401, 'WRONG_CREDENTIALS', 'Wrong email and/or password')
  await refund()
  return user
}

/** Returns a session token. */
export async function signIn(app: App, user: Account, request: Request): Promise<string> {
  if (user.emailVerified) await trustAddress(app, user.id, request.ip)
  return await startSession(app, app.db, user.id, request)
}
