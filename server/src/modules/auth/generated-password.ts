import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import type { Db } from '../../db/database.ts'
import { refuse } from '../../errors.ts'
import { findConfirmedAccount, setPasswordHash, type Account } from './account-store.ts'
import { endCredentials } from './end-credentials.ts'
import { hashPassword } from './passwords.ts'
import { resetAllAttempts } from './sign-in-attempts.ts'

const lifetimeMs = days(7)

/** Generates a password for a user, who must replace it before it expires, since the operator knows it. */
const generatePassword = ({ clock }: Pick<App, 'clock'>): { password: string; until: Date } => ({
  password: randomBytes(16).toString('base64url'),
  until: new Date(clock.now().getTime() + lifetimeMs),
})

type PasswordOf = Pick<Account, 'passwordHash' | 'generatedPasswordHash' | 'generatedPasswordUntil'>

/** @throws Refusal 405 if the operator's command generated the password too long ago */
export function requireValidPassword(
  { clock }: Pick<App, 'clock'>,
  { passwordHash, generatedPasswordHash, generatedPasswordUntil: until }: PasswordOf,
): void {
  if (until && until <= clock.now() && passwordHash === generatedPasswordHash)
    throw refuse(
      'PASSWORD_EXPIRED',
      'This generated password has expired. Choose your own with "Forgot password", or ask the operator for another one.',
    )
}

/**
 * Replaces the password of a confirmed account by a generated one, and revokes all its other credentials, as a recovery by email does.
 * Calls `record` in the same transaction. Returns null if there is no such account.
 */
async function resetPassword(
  app: App,
  email: string,
  record: (tx: Db, userId: number) => Promise<void>,
): Promise<{ password: string; until: Date } | null> {
  const account = await findConfirmedAccount(app.db, email)
  if (!account) return null
  const { password, until } = generatePassword(app)
  const passwordHash = await hashPassword(password)
  await app.db.transaction(async (tx) => {
    await setPasswordHash(tx, account.id, passwordHash, until)
    await endCredentials(tx, account.id, {})
    await resetAllAttempts(tx, account.email)
    await record(tx, account.id)
  })
  return { password, until }
}

/** Passwords of accounts, for modules that create accounts, and for the operator's commands. */
export const passwords = { hash: hashPassword, generate: generatePassword, reset: resetPassword }
