import type { QueryClient } from '@tanstack/react-query'
import { redirect } from '@tanstack/react-router'
import { can } from '@shoal/contract'
import { selectOrg } from '../api/active-org.ts'
import { sessionQuery } from '../api/session.ts'

/** The server is busy with itself (503); the root's error screen says so. */
export class Unavailable extends Error {
  override name = 'Unavailable'
}

async function session(client: QueryClient) {
  const found = await client.ensureQueryData(sessionQuery)
  if (found.status === 'unavailable') throw new Unavailable()
  return found
}

// The query string goes along, so that an invitation's link survives signing in.
const keepSearch = (search: Record<string, unknown>) => search

const ownOfGuestPages = ['email', 'turnstileInteractive', 'code', 'state']
const withoutOwn = (search: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(search).filter(([key]) => !ownOfGuestPages.includes(key)))

/** For the routes of spec 2.1: whoever is signed in belongs into the app. */
export async function onlySignedOut(client: QueryClient): Promise<void> {
  const found = await session(client)
  if (found.status === 'signedIn') throw redirect({ to: '/squids', search: withoutOwn, replace: true })
}

/** For the routes of spec 2.2. `organization` in the query string switches to that organization. */
export async function onlySignedIn(client: QueryClient, organization: string | undefined): Promise<void> {
  const found = await session(client)
  if (found.status !== 'signedIn') throw redirect({ to: '/', search: keepSearch, replace: true })
  if (organization) selectOrg(found.user, organization)
}

/** For the step that invites: switches to that organization, if the user may invite into it (spec 2.6). */
export async function onlyWhoInvites(client: QueryClient, code: string): Promise<void> {
  const found = await session(client)
  if (found.status !== 'signedIn') return
  const org = found.user.organizations.find((candidate) => candidate.code === code)
  const mayInvite = org && can({ roleType: org.roleType, isPlayground: org.limits.playground }, 'role.write')
  if (!mayInvite) throw redirect({ to: '/squids', replace: true })
  selectOrg(found.user, code)
}
