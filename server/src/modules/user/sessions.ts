import type { Session } from '@shoal/contract'
import type { App } from '../../app.ts'
import { listSessions } from '../auth/index.ts'
import type { Actor } from '../call.ts'

export async function sessionsOf(app: App, actor: Actor): Promise<Session[]> {
  const rows = await listSessions(app.db, actor.userId, app.clock.now())
  return rows.map((row) => ({
    id: row.id,
    createdAt: row.createdAt.toISOString(),
    lastSeenAt: row.lastSeenAt.toISOString(),
    userAgent: row.userAgent,
    ip: row.ip,
    isCurrent: row.id === actor.sessionId,
  }))
}
