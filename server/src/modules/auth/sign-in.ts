import type { App } from '../../app.ts'
import { refuse, Refusal } from '../../errors.ts'
import type { Request } from '../call.ts'
import { findConfirmedAccount, findUnconfirmedAccount, type Account } from './account-store.ts'
import { findDeviceId, rememberDevice } from './devices.ts'
import { requireValidPassword } from './generated-password.ts'
import { verifyPassword } from './passwords.ts'
import { startSession } from './sessions.ts'
import { consumeAttempt, recordKnownAddress } from './sign-in-attempts.ts'

/**
 * Returns the account with this email and password. Counts only failures. Always verifies two passwords, using dummy hashes if necessary,
 * so that the response time does not reveal accounts (docs/decisions/0006-no-account-enumeration.md).
 * @throws Refusal 401 with spec 8's text when email or password is wrong; 405 if the account is disabled or the password expired; 429 after too many failures
 */
export async function checkPassword(
  app: App,
  { email, password }: { email: string; password: string },
  request: Request,
): Promise<Account> {
  const confirmed = await findConfirmedAccount(app.db, email)
  const unconfirmed = await findUnconfirmedAccount(app.db, email)
  const device = confirmed && findDeviceId(app, confirmed, request)
  const refund = await consumeAttempt(app, { email, ownerId: confirmed?.id ?? null, ip: request.ip, device })
  const [matchesConfirmed, matchesUnconfirmed] = await Promise.all([
    verifyPassword(confirmed?.passwordHash, password),
    verifyPassword(unconfirmed?.passwordHash, password),
  ])
  const user = matchesConfirmed ? confirmed : matchesUnconfirmed ? unconfirmed : null
  if (!user) throw new Refusal(401, 'WRONG_CREDENTIALS', 'Wrong email and/or password')
  await refund()
  requireEnabled(user)
  requireValidPassword(app, user)
  return user
}

/** @throws Refusal 405 if an operator has disabled the account */
export function requireEnabled({ disabledAt }: Pick<Account, 'disabledAt'>): void {
  if (disabledAt) throw refuse('ACCOUNT_DISABLED', 'The operator has disabled this account. Please contact support.')
}

/** Starts a session after the password was checked, records the address and browser of a confirmed account, and returns the session token. */
export async function signIn(app: App, user: Account, request: Request): Promise<string> {
  if (user.emailVerified) {
    await recordKnownAddress(app, user.id, request.ip)
    rememberDevice(app, user, request)
  }
  return await startSession(app, app.db, user.id, request, app.clock.now())
}
