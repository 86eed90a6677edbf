import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import { operatorAuth } from '../auth/index.ts'
import type { Actor, AuditEntry } from '../call.ts'
import { lockOrgByCode } from './find-org.ts'

const supportMs = minutes(30)

/**
 * Allows the operator's session to read an organization for 30 minutes, and ends its access to any other organization. `http/support.ts`
 * lists the endpoints that it may call. Returns the entry for the audit log of the organization `code`.
 * @throws Refusal 404 for an unknown code
 */
export async function openSupport(app: App, actor: Actor, code: string): Promise<{ until: Date; entry: AuditEntry }> {
  const org = await lockOrgByCode(app, code)
  const until = new Date(app.clock.now().getTime() + supportMs)
  if (actor.sessionId) await operatorAuth.saveSupport(app.db, actor.sessionId, { orgId: org.id, until })
  return { until, entry: { orgIds: [org.id], subject: org.code, after: { until } } }
}

/** Ends the session's access to an organization early. Returns the entry for the audit log of the organization. */
export async function closeSupport(app: App, actor: Actor): Promise<AuditEntry> {
  if (actor.sessionId) await operatorAuth.saveSupport(app.db, actor.sessionId, null)
  return actor.support ? { orgIds: [actor.support.orgId], before: { until: actor.support.until } } : {}
}
