import type { App } from '../../app.ts'
import { notFound } from '../../errors.ts'
import { operatorAuth } from '../auth/index.ts'
import type { AuditEntry } from '../call.ts'
import { listOrgsOf } from '../orgs/index.ts'

/**
 * Returns what the audit log has about every call that concerns an account. It is in the audit log of each organization of the user,
 * because it affects what that member can do there.
 */
export async function concerning(app: App, account: { id: number; email: string }): Promise<AuditEntry> {
  const orgs = await listOrgsOf(app.db, { userId: account.id, tokenOrgId: null })
  return { subject: account.email, orgIds: orgs.map(({ id }) => id) }
}

/** Returns an account. @throws Refusal 404 for an unknown id */
export async function accountWith(app: App, id: number) {
  const account = await operatorAuth.findAccount(app.db, id)
  if (!account) throw notFound('User')
  return account
}
