import { queryOptions, type QueryClient } from '@tanstack/react-query'
import type { User } from '@shoal/contract'
import { createContext, use } from 'react'
import { clearSession, getSetting, setSetting } from '../lib/local-settings.ts'
import { isUnreachable } from './connection.ts'
import { hasStatus } from './error-text.ts'
import { callApi, q } from './query.ts'

/** Who is here (spec 4): 401 is nobody, 503 is maintenance, otherwise a user. */
export type Session = { status: 'signedOut' } | { status: 'unavailable' } | { status: 'signedIn'; user: User }

const signedOut: Session = { status: 'signedOut' }

/** Maintenance is for who has just come: an open page stays, and says itself that nothing answers. */
async function fetchSession(client: QueryClient, signal: AbortSignal): Promise<Session> {
  try {
    return { status: 'signedIn', user: await callApi('user.get', {}, signal) }
  } catch (error) {
    if (hasStatus(error, 401)) return signedOut
    const isOpen = client.getQueryData(sessionQuery.queryKey)?.status === 'signedIn'
    if (isUnreachable(error) && !isOpen) return { status: 'unavailable' }
    throw error
  }
}

/** The key is the endpoint's, so that a mutation that changes the profile refreshes the session by its name. */
export const sessionQuery = queryOptions({
  queryKey: ['user.get'] as const,
  queryFn: ({ client, signal }): Promise<Session> => fetchSession(client, signal),
  staleTime: 60_000,
})

/** What this installation offers to sign in with. */
export const authOptionsQuery = q('auth.getOptions', {}, { staleTime: Infinity, retry: false })

/** Without a token the answer is known: the sign-in page waits for nothing. Maintenance shows in what else is asked. */
export function seedSession(client: QueryClient): void {
  if (getSetting('user_token') === null) client.setQueryData(sessionQuery.queryKey, signedOut)
}

/** Filled by the app's layout: one place decides whether somebody is here, and all below it agree. */
export const UserContext = createContext<User | null>(null)

/** The user, below the session gate. */
export function useUser(): User {
  const user = use(UserContext)
  if (!user) throw new Error('useUser was called outside the session gate')
  return user
}

/** Stores the token and forgets what another user left; the caller navigates (spec 4). */
export async function startSession(client: QueryClient, token: string): Promise<void> {
  setSetting('user_token', token)
  setSetting('tmp_invites_checked', false)
  await client.fetchQuery({ ...sessionQuery, staleTime: 0 })
}

/** Forgets the token and everything that was answered to it. The server is told first, when it can be. */
export async function endSession(client: QueryClient): Promise<void> {
  await callApi('auth.signOut', {}).catch(() => null)
  dropSession(client)
}

/** The token is no longer good. */
export function dropSession(client: QueryClient): void {
  clearSession()
  client.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'user.get' })
  client.setQueryData(sessionQuery.queryKey, signedOut)
}
