import { operatorPasswordMinutes } from '@shoal/contract'
import { findAccount, setOperator, getAccount } from './account-store.ts'
import { endSessionOf, saveSupport, savePasswordEntry } from './store.ts'
import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { invalidField, refuse } from '../../errors.ts'
import type { Db } from '../../db/database.ts'
import type { Actor } from '../call.ts'
import { requireValidPassword } from './generated-password.ts'
import { verifyPassword } from './passwords.ts'

/** Returns until when the password counts as recently entered in this session; null if it does not. */
function passwordUntil({ passwordAt }: Pick<Actor, 'passwordAt'>, now: Date): Date | null {
  if (passwordAt === null) return null
  const until = new Date(passwordAt.getTime() + minutes(operatorPasswordMinutes))
  return until > now ? until : null
}

/**
 * Checks the password of the caller and records in the session that it was entered now. Returns the time until which that counts
 * as recent.
 * @throws Refusal 400 for the field `password` if it is wrong; 405 if the account has no password, or an expired one
 */
async function enterPassword(app: App, actor: Actor, password: string): Promise<Date> {
  const account = await getAccount(app.db, actor.userId)
  const { passwordHash } = account
  if (passwordHash === null)
    throw refuse('NO_PASSWORD', 'Your account has no password yet. Sign out and use "Forgot password" to set one.')
  if (!(await verifyPassword(passwordHash, password))) throw invalidField('password', 'The password is wrong')
  requireValidPassword(app, account)
  const now = app.clock.now()
  if (actor.sessionId) await savePasswordEntry(app.db, actor.sessionId, now)
  return new Date(now.getTime() + minutes(operatorPasswordMinutes))
}

/** False for accounts that sign in only with a provider. */
const hasPassword = async (db: Db, userId: number): Promise<boolean> =>
  (await getAccount(db, userId)).passwordHash !== null

/** The functions of accounts and sessions that the operator's console uses. */
export const operatorAuth = {
  endSessionOf,
  enterPassword,
  findAccount,
  hasPassword,
  passwordUntil,
  saveSupport,
  setOperator,
}
