import type { App } from '../../app.ts'
import { minutes } from '../../clock.ts'
import type { Actor } from '../call.ts'
import { hashSecret } from '../../sealing/hash-secret.ts'
import { isApiTokenKey } from './api-token-key.ts'
import { readSessionToken } from './sessions.ts'
import { findApiTokenByHash, findSession, touchApiToken, touchSession } from './store.ts'

/** Minimum interval between updates of `lastSeenAt` or `lastUsedAt`, so that not every call causes a write. */
const saveLastSeenEveryMs = minutes(1)

/**
 * Identifies the caller by the `authorization` header: `token <key>`, as the public client sends it, or `Bearer <key>`. The key is a
 * session token or an API token. Returns null if the key is unknown or has expired, or its session has ended.
 */
export async function authenticate(app: App, authorization: string | undefined): Promise<Actor | null> {
  const credential = /^(?:token|bearer) +(\S{1,2000})$/i.exec(authorization ?? '')?.[1]
  if (!credential) return null
  return isApiTokenKey(credential) ? authenticateApiToken(app, credential) : authenticateSession(app, credential)
}

async function authenticateApiToken(app: App, key: string): Promise<Actor | null> {
  const now = app.clock.now()
  const token = await findApiTokenByHash(app.db, hashSecret(key))
  if (!token || (token.expiresAt && token.expiresAt <= now)) return null
  if (!token.lastUsedAt || now.getTime() - token.lastUsedAt.getTime() >= saveLastSeenEveryMs)
    await touchApiToken(app.db, token.id, now)
  return {
    ...token.user,
    sessionId: null,
    passwordAt: null,
    support: null,
    apiTokenId: token.id,
    tokenScope: token.scope,
    tokenOrgId: token.orgId,
  }
}

async function authenticateSession(app: App, token: string): Promise<Actor | null> {
  const id = await readSessionToken(app, token)
  const session = id ? await findSession(app.db, id) : null
  const now = app.clock.now()
  if (!session || session.expiresAt <= now) return null
  if (now.getTime() - session.lastSeenAt.getTime() >= saveLastSeenEveryMs) await touchSession(app.db, session.id, now)
  return {
    ...session.user,
    sessionId: session.id,
    passwordAt: session.passwordAt,
    support: supportOf(session, now),
    apiTokenId: null,
    tokenScope: null,
    tokenOrgId: null,
  }
}

/** Returns the support access of a session. It ends at its time limit, or when the user is no longer an operator. */
function supportOf(session: NonNullable<Awaited<ReturnType<typeof findSession>>>, now: Date): Actor['support'] {
  const { supportOrgId: orgId, supportUntil: until, user } = session
  return user.isOperator && orgId !== null && until !== null && until > now ? { orgId, until } : null
}
