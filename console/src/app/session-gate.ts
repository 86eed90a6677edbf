import { can } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { redirect, type AnyRouter } from '@tanstack/react-router'
import { findOrg, rememberCode, selectOrg } from '../api/active-org.ts'
import { sessionQuery } from '../api/session.ts'

/** Thrown while the session is unavailable; `RootError` then shows the maintenance screen. */
export class ServiceUnavailable extends Error {
  override name = 'ServiceUnavailable'
}

async function loadSession(client: QueryClient) {
  const session = await client.ensureQueryData(sessionQuery)
  if (session.status === 'unavailable') throw new ServiceUnavailable()
  return session
}

// Keep the query string, so that an invitation link survives signing in.
const keepSearch = (search: Record<string, unknown>) => search

const guestOnlyParams = ['email', 'turnstileInteractive', 'code', 'state']
const withoutGuestParams = (search: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(search).filter(([key]) => !guestOnlyParams.includes(key)))

/** For the routes of spec 2.1: redirects signed-in users to the app. */
export async function requireSignedOut(client: QueryClient): Promise<void> {
  const session = await loadSession(client)
  if (session.status === 'signedIn') throw redirect({ to: '/squids', search: withoutGuestParams, replace: true })
}

/** For the routes of spec 2.2: redirects signed-out users to the sign-in page, and selects the organization with the code `organization`. */
export async function requireSignedIn(client: QueryClient, organization: string | undefined): Promise<void> {
  const session = await loadSession(client)
  if (session.status !== 'signedIn') throw redirect({ to: '/', search: keepSearch, replace: true })
  if (organization) selectOrg(session.user, organization)
  const org = findOrg(client)
  if (org) rememberCode(org)
}

/**
 * For the invitation step of a new organization (spec 2.6): selects the organization, or redirects a user who may not
 * invite.
 */
export async function requireCanInvite(client: QueryClient, code: string): Promise<void> {
  const session = await loadSession(client)
  if (session.status !== 'signedIn') return
  const org = session.user.organizations.find((candidate) => candidate.code === code)
  const canInvite = org && can({ roleType: org.roleType, isPlayground: org.limits.playground }, 'role.write')
  if (!canInvite) throw redirect({ to: '/squids', replace: true })
  selectOrg(session.user, code)
}

/** For the operator's console: for other users, its routes behave like unknown paths. */
export async function requireOperator(client: QueryClient): Promise<void> {
  const session = await loadSession(client)
  if (session.status !== 'signedIn' || !session.user.isOperator)
    throw redirect({ to: '/squids', search: keepSearch, replace: true })
}

/** Runs the gates of the routes again each time the session begins, ends or becomes unavailable. */
export function followSession(queryClient: QueryClient, router: AnyRouter): void {
  const status = () => queryClient.getQueryData(sessionQuery.queryKey)?.status
  let knownStatus = status()
  queryClient.getQueryCache().subscribe(({ query }) => {
    const current = status()
    if (query.queryKey[0] !== sessionQuery.queryKey[0] || current === knownStatus) return
    const wasKnown = knownStatus !== undefined
    knownStatus = current
    if (wasKnown) void router.invalidate()
  })
}
