import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { User } from '@shoal/contract'
import { createContext, use } from 'react'
import { clearSession, getSetting, setSetting } from '../lib/local-settings.ts'
import { clearResponses } from './client.ts'
import { isMaintenance, isUnreachable } from './connection.ts'
import { hasStatus } from './error-text.ts'
import { callApi, q } from './query.ts'

/**
 * The session (spec 4): `signedOut` without a token or after a 401, `unavailable` during maintenance or while the server does not
 * respond to a new tab, otherwise a user.
 */
export type Session = { status: 'signedOut' } | { status: 'unavailable' } | { status: 'signedIn'; user: User }

const signedOut: Session = { status: 'signedOut' }

/** A server that restarts is often back after this time. */
const retryMs = 1000

/**
 * Only a new tab shows the maintenance page: during an announced maintenance, or after a second request failed too. An
 * open page stays visible, and shows the connection bar if the server is unreachable.
 */
async function fetchSession(client: QueryClient, signal: AbortSignal, isRetry = false): Promise<Session> {
  try {
    return { status: 'signedIn', user: await callApi('user.get', {}, signal) }
  } catch (error) {
    if (hasStatus(error, 401)) return signedOut
    const cachedStatus = client.getQueryData(sessionQuery.queryKey)?.status
    const isAnnounced = isMaintenance(error)
    if (cachedStatus === 'signedIn' || !(isAnnounced || isUnreachable(error))) throw error
    if (isAnnounced || isRetry || cachedStatus === 'unavailable') return { status: 'unavailable' }
    await new Promise((done) => setTimeout(done, retryMs))
    return fetchSession(client, signal, true)
  }
}

/** Uses the key of the endpoint, so that mutations that invalidate `user.get` refresh the session. */
export const sessionQuery = queryOptions({
  queryKey: ['user.get'] as const,
  queryFn: ({ client, signal }): Promise<Session> => fetchSession(client, signal),
  staleTime: 60_000,
})

/** The sign-in methods of this installation. */
export const authOptionsQuery = q('auth.getOptions', {}, { staleTime: Infinity, retry: false })

/**
 * Without a token, the user is signed out, so the sign-in page renders without a request for the session. Other requests
 * detect maintenance.
 */
export function seedSession(client: QueryClient): void {
  if (getSetting('user_token') === null) client.setQueryData(sessionQuery.queryKey, signedOut)
}

/** The app's layout provides the user; no other component decides whether a user is signed in. */
export const UserContext = createContext<User | null>(null)

/** The signed-in user. @throws Error outside the layout that provides `UserContext` */
export function useUser(): User {
  const user = use(UserContext)
  if (!user) throw new Error('useUser was called outside the session gate')
  return user
}

/** Stores the token, and loads the session; the caller then navigates (spec 4). The console checks again for invitations. */
export async function startSession(client: QueryClient, token: string): Promise<void> {
  setSetting('user_token', token)
  setSetting('tmp_invites_checked', false)
  await client.fetchQuery({ ...sessionQuery, staleTime: 0 })
}

/** Signs out on the server, and deletes the token and all cached data even if the server does not respond. */
export async function endSession(client: QueryClient): Promise<void> {
  await callApi('auth.signOut', {}).catch(() => null)
  dropSession(client)
}

/** Deletes the token and all cached data, without a request to the server. */
export function dropSession(client: QueryClient): void {
  clearSession()
  clearResponses()
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'user.get' })
  client.setQueryData(sessionQuery.queryKey, signedOut)
}
