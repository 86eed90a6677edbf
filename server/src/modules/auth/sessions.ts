import { jwtVerify, SignJWT } from 'jose'
import { randomUUID } from 'node:crypto'
import type { Session } from '@shoal/contract'
import type { App } from '../../app.ts'
import { days } from '../../clock.ts'
import type { Db } from '../../db/database.ts'
import type { Request } from '../call.ts'
import { signingKey } from './signing-keys.ts'
import { addSession, selectSessions } from './store.ts'

const lifetimeMs = days(30)

/**
 * Starts a session and returns its token: a JWT that identifies the user and becomes invalid when the session's row is deleted.
 * @param passwordAt - when the user entered the password; null for a sign-in without one
 */
export async function startSession(
  app: App,
  db: Db,
  userId: number,
  request: Pick<Request, 'userAgent' | 'ip'>,
  passwordAt: Date | null = null,
): Promise<string> {
  const now = app.clock.now()
  const expiresAt = new Date(now.getTime() + lifetimeMs)
  const id = randomUUID()
  await addSession(db, {
    id,
    userId,
    createdAt: now,
    lastSeenAt: now,
    expiresAt,
    userAgent: request.userAgent?.slice(0, 300) ?? null,
    ip: request.ip,
    passwordAt,
  })
  // Spec 3: the console reads the flag as `walletAuthorized`. There is no sign-in by wallet.
  return new SignJWT({ sid: id, shoalWalletAuthorized: false })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(String(userId))
    .setIssuedAt(now)
    .setExpirationTime(expiresAt)
    .sign(await signingKey(app, 'session'))
}

/** Returns the session id if the token is valid and not expired. The session may already have been ended. */
export async function readSessionToken(app: App, token: string): Promise<string | null> {
  try {
    const { payload } = await jwtVerify(token, await signingKey(app, 'session'), {
      algorithms: ['HS256'],
      currentDate: app.clock.now(),
    })
    return typeof payload['sid'] === 'string' ? payload['sid'] : null
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_J')) return null
    throw error
  }
}

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
