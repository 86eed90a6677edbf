import type { Session } from '@shoal/contract'
import type { App } from '../../app.ts'
import { notFound, refuse } from '../../errors.ts'
import { endSessionsOf, listSessions, operatorAuth } from '../auth/index.ts'
import type { Actor, AuditEntry } from '../call.ts'
import { isUuid } from '../parse-id.ts'
import { accountById, auditEntryFor } from './accounts.ts'

/**
 * Returns the unexpired sessions of a user, and the entry for the audit log: addresses and devices are personal data, so the log records
 * who reads them. @throws Refusal 404 for an unknown user
 */
export async function listSessionsOf(
  app: App,
  actor: Actor,
  userId: number,
): Promise<{ sessions: Session[]; entry: AuditEntry }> {
  const entry = await auditEntryFor(app, await accountById(app, userId))
  return { sessions: await listSessions(app, userId, actor.sessionId), entry }
}

/**
 * Ends one session of a user. Returns the entry for the audit log.
 * @throws Refusal 404 for an unknown user, or a session that this user does not have; 405 for the session of this request
 */
export async function endUserSession(app: App, actor: Actor, userId: number, sessionId: string): Promise<AuditEntry> {
  const account = await accountById(app, userId)
  if (sessionId === actor.sessionId) throw refuse('OWN_SESSION', 'You use this session now. Sign out to end it.')
  const ended = isUuid(sessionId) ? await operatorAuth.endSessionOf(app.db, userId, sessionId) : null
  if (!ended) throw notFound('Session')
  const { userAgent, ip, lastSeenAt } = ended
  return { ...(await auditEntryFor(app, account)), before: { userId, userAgent, ip, lastSeenAt }, after: { ended: 1 } }
}

/**
 * Ends all sessions of a user, except the one of this request. Returns their number, and the entry for the audit log.
 * @throws Refusal 404 for an unknown user
 */
export async function endAllSessionsOf(
  app: App,
  actor: Actor,
  userId: number,
): Promise<{ ended: number; entry: AuditEntry }> {
  const account = await accountById(app, userId)
  const ended = await endSessionsOf(app.db, userId, actor.sessionId ?? undefined)
  return { ended, entry: { ...(await auditEntryFor(app, account)), after: { userId, ended } } }
}
