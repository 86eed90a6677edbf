import { operatorPageSize, type Contract, type PayloadInputOf, type QueryOf } from '@shoal/contract'
import type { App } from '../../app.ts'
import { refuse } from '../../errors.ts'
import { changeAccount, confirmationQueue, endSessionsOf } from '../auth/index.ts'
import type { Actor, AuditEntry } from '../call.ts'
import { accountById, auditEntryFor } from './accounts.ts'
import { selectUsers } from './users-store.ts'

type ListUsers = Contract['operators']['listUsers']

/** Returns a page of users with the number of their unexpired sessions, the newest users first. */
export async function listUsers(
  app: App,
  { search = '', offset = 0 }: QueryOf<ListUsers>,
): Promise<PayloadInputOf<ListUsers>> {
  return await selectUsers(app.db, { search, offset, limit: operatorPageSize, now: app.clock.now() })
}

/**
 * Disables an account: ends its sessions, and rejects its API tokens and sign-ins. Returns the entry for the audit log.
 * @throws Refusal 404 for an unknown id; 405 for the operator's own account
 */
export async function disableUser(app: App, actor: Actor, id: number): Promise<AuditEntry> {
  const account = await accountById(app, id)
  if (id === actor.userId) throw refuse('OWN_ACCOUNT', 'You cannot disable your own account.')
  await changeAccount(app.db, id, { disabledAt: app.clock.now() })
  const endedSessions = await endSessionsOf(app.db, id)
  return {
    ...(await auditEntryFor(app, account)),
    before: { disabledAt: account.disabledAt },
    after: { userId: id, endedSessions },
  }
}

/** Enables a disabled account. Returns the entry for the audit log. @throws Refusal 404 for an unknown id */
export async function enableUser(app: App, id: number): Promise<AuditEntry> {
  const account = await accountById(app, id)
  await changeAccount(app.db, id, { disabledAt: null })
  return {
    ...(await auditEntryFor(app, account)),
    before: { disabledAt: account.disabledAt },
    after: { userId: id, disabledAt: null },
  }
}

/** Sends the confirmation email again, within the rate limit for emails. @throws Refusal 404 for an unknown id; 405 if it is confirmed */
export async function resendConfirmation(app: App, id: number): Promise<AuditEntry> {
  const account = await accountById(app, id)
  if (account.emailVerified) throw refuse('NOT_NOW', `${account.email} is confirmed already.`)
  await app.jobs.send(confirmationQueue, { userId: id })
  return { ...(await auditEntryFor(app, account)), after: { userId: id } }
}
