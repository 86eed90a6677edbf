import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import { operatorAuth } from '../auth/index.ts'
import type { AuditEntry } from '../call.ts'
import { listOrgsOf } from '../orgs/index.ts'

/**
 * Returns the audit entry of a call that concerns an account. It is recorded for each organization of the user, because such a call
 * affects what that member can do there.
 */
export async function auditEntryFor(app: App, account: { id: number; email: string }): Promise<AuditEntry> {
  const orgs = await listOrgsOf(app.db, { userId: account.id, tokenOrgId: null })
  return { subject: account.email, orgIds: orgs.map(({ id }) => id) }
}

/** Returns an account. @throws Refusal 404 for an unknown id */
export async function accountById(app: App, id: number) {
  const account = await operatorAuth.findAccount(app.db, id)
  if (!account) throw notFound('User')
  return account
}
