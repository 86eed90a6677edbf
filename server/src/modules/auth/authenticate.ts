import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import type { Actor } from '../call.ts'
import { hashOf, isApiTokenKey } from './api-token-key.ts'
import { readSessionToken } from './sessions.ts'
import { findApiTokenByHash, findSession, touchApiToken, touchSession } from './store.ts'

/** `lastSeenAt` and `lastUsedAt` are this exact, so that a busy caller costs no write a call. */
const saveLastSeenEveryMs = minutes(1)

/**
 * Who calls, by the `authorization` header: `token <key>` as the public client sends it or `Bearer <key>` (contract 1), each
 * with a session token or an API token. Null for everybody unknown, expired or signed out.
 */
export async function authenticate(app: App, authorization: string | undefined): Promise<Actor | null> {
  const credential = /^(?:token|bearer) +(\S{1,2000})$/i.exec(authorization ?? '')?.[1]
  if (!credential) return null
  return isApiTokenKey(credential) ? byApiToken(app, credential) : bySession(app, credential)
}

async function byApiToken(app: App, key: string): Promise<Actor | null> {
  const now = app.clock.now()
  const found = await findApiTokenByHash(app.db, hashOf(key))
  if (!found || (found.expiresAt && found.expiresAt <= now)) return null
  if (!found.lastUsedAt || now.getTime() - found.lastUsedAt.getTime() >= saveLastSeenEveryMs)
    await touchApiToken(app.db, found.id, now)
  return { ...found.user, sessionId: null, apiTokenId: found.id }
}

async function bySession(app: App, token: string): Promise<Actor | null> {
  const id = await readSessionToken(app, token)
  const found = id ? await findSession(app.db, id) : null
  const now = app.clock.now()
  if (!found || found.expiresAt <= now) return null
  if (now.getTime() - found.lastSeenAt.getTime() >= saveLastSeenEveryMs) await touchSession(app.db, found.id, now)
  return { ...found.user, sessionId: found.id, apiTokenId: null }
}
