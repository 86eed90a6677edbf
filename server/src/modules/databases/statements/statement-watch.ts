import type { App } from '../../../app.ts'
import { minutes } from '../../../clock.ts'
import { onEveryHost, type DatabaseHost } from '../../../db/database-hosts.ts'
import { durationText } from '../database-config.ts'
import { installationPrefix, needsSuperuser, squidIdOfName } from '../database-store.ts'
import { isLoginRole } from '../logins-store.ts'
import { addDatabaseNotice } from './add-notice.ts'
import {
  endSession,
  selectLimits,
  selectLongSessions,
  type LongSession,
  type RecordedLimits,
} from './sessions-store.ts'

/** The time added to each limit, in which Postgres itself ends the statements of sessions that have not disabled their limits. */
const graceMs = 10_000

/** A session that exceeds its limit. `isManifestLimit`: whether that is a limit of the manifest, not of the installation. */
type Overdue = LongSession & { squidId: number; limitMs: number; isManifestLimit: boolean }

/**
 * Returns the limit of a session in milliseconds. The limit of the manifest applies to the queries and changes of the version's
 * programs. The limit of the installation (`maxMs`) applies to users of the read-only role, and to statements that copy rows or
 * build tables or indexes.
 */
export function limitOf(
  { role, isIdle, isMaintenance }: Pick<LongSession, 'role' | 'isIdle' | 'isMaintenance'>,
  limits: Omit<RecordedLimits, 'squidId'>,
  maxMs: number,
): number {
  const isOfProgram = role === limits.role || isLoginRole(limits.role, role)
  if (!isOfProgram || (isMaintenance && !isIdle)) return maxMs
  return Math.min((isIdle ? limits.idleInTransactionMs : limits.statementMs) || maxMs, maxMs)
}

/**
 * Returns a function to call periodically, which ends statements and idle transactions of tenants that exceed their limits
 * because their session has disabled the limits of Postgres. It first cancels a statement; if the statement catches the
 * cancellation, it ends the session. It adds the reason to the version's log. `graceMs`: the time added to each limit.
 */
export function createStatementWatch(app: App, options: { graceMs?: number } = {}): () => Promise<void> {
  const watches = new Map(app.databaseHosts.all.map((host) => [host.name, createHostWatch(app, host, options)]))
  return async () =>
    void (await onEveryHost(app.databaseHosts, ({ name }) => watches.get(name)?.() ?? Promise.resolve()))
}

function createHostWatch(app: App, { cluster }: DatabaseHost, options: { graceMs?: number }): () => Promise<void> {
  const maxMs = minutes(app.config.SHOAL_SQUIDS_STATEMENT_MINUTES)
  const grace = options.graceMs ?? graceMs
  let canceledBefore = new Set<string>()
  let isWarned = false
  let prefix: string | null = null

  const findOverdue = async (): Promise<Overdue[]> => {
    const rolePrefix = (prefix ??= `${await installationPrefix(app.db)}_`)
    const sessions = (await selectLongSessions(cluster, rolePrefix, grace)).flatMap((session) => {
      const squidId = squidIdOfName(session.role, rolePrefix)
      return squidId === null ? [] : [{ ...session, squidId }]
    })
    if (sessions.length === 0) return []
    const ids = [...new Set(sessions.map(({ squidId }) => squidId))]
    const limits = new Map((await selectLimits(app.db, ids)).map((row) => [row.squidId, row]))
    return sessions.flatMap((session) => {
      const recorded = limits.get(session.squidId)
      if (!recorded) return []
      const limitMs = limitOf(session, recorded, maxMs)
      const isManifestLimit = limitMs < maxMs
      return session.elapsedMs < limitMs + grace ? [] : [{ ...session, limitMs, isManifestLimit }]
    })
  }

  /** Cancels a statement or ends a session. Returns the message for users; null if the statement has already ended. */
  const end = async (session: Overdue, canceledNow: Set<string>): Promise<string | null> => {
    const key = `${session.pid} ${session.startedAt} ${session.since}`
    const isCanceled = canceledBefore.has(key)
    const action = session.isIdle || isCanceled ? 'terminate' : 'cancel'
    if (!(await endSession(cluster, session, action))) return null
    if (action === 'cancel') canceledNow.add(key)
    return messageOf(session, isCanceled)
  }

  return async () => {
    const canceledNow = new Set<string>()
    const messages: { squidId: number; role: string; message: string }[] = []
    for (const session of await findOverdue())
      try {
        const message = await end(session, canceledNow)
        if (message !== null) messages.push({ squidId: session.squidId, role: session.role, message })
      } catch (error) {
        if (!needsSuperuser(error)) throw error
        if (!isWarned)
          app.log.warn(
            'Statements of squids that exceed their limits cannot be ended: grant pg_signal_backend to the role of SHOAL_SQUIDS_DATABASE_URL, or make it a superuser.',
          )
        isWarned = true
      }
    canceledBefore = canceledNow
    // Adds only one line per role and round, so that many sessions do not fill the log of a version.
    for (const [first, ...others] of Map.groupBy(messages, ({ role }) => role).values()) {
      if (!first) continue
      const more =
        others.length > 0
          ? ` The same applied to ${others.length === 1 ? 'one more session' : `${others.length} more sessions`} of the same user.`
          : ''
      await addDatabaseNotice(app, first.squidId, `${first.message}${more}`)
    }
  }
}

function messageOf({ elapsedMs, limitMs, isIdle, isManifestLimit, role }: Overdue, isCanceled: boolean): string {
  const setting = isIdle ? 'idle_in_transaction_session_timeout' : 'statement_timeout'
  const source = isManifestLimit ? `${setting} of the manifest` : 'the limit of this installation'
  const limit = `${durationText(limitMs)} (${source})`
  const user = role.endsWith('_ro') ? ' of the read-only user' : ''
  if (isIdle)
    return `Shoal ended a database session${user}: its transaction was idle for ${durationText(elapsedMs)}, longer than ${limit}, and prevented the removal of old rows.`
  if (isCanceled)
    return `Shoal ended a database session${user}: its statement continued after it was canceled, for ${durationText(elapsedMs)}, longer than ${limit}.`
  return `Shoal canceled a statement${user} in the database: it ran for ${durationText(elapsedMs)}, longer than ${limit}.`
}
