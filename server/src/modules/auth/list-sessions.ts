import type { Session } from '@shoal/contract'
import type { App } from '../../app.ts'
import { selectSessions } from './store.ts'

/** Returns the unexpired sessions of a user, most recently seen first. @param currentId the session of the request */
export async function listSessions(app: App, userId: number, currentId: string | null): Promise<Session[]> {
  const rows = await selectSessions(app.db, userId, app.clock.now())
  return rows.map((row) => ({
    id: row.id,
    createdAt: row.createdAt.toISOString(),
    lastSeenAt: row.lastSeenAt.toISOString(),
    userAgent: row.userAgent,
    ip: row.ip,
    isCurrent: row.id === currentId,
  }))
}
