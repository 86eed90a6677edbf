import type { Org, User } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { sessionQuery } from './session.ts'

/** Shows a changed user immediately, before the session is refetched. */
export const seedUser = (client: QueryClient, user: User): void =>
  void client.setQueryData(sessionQuery.queryKey, (session) =>
    session?.status === 'signedIn' ? { ...session, user } : session,
  )

/** Shows a changed organization of the user immediately, before the session is refetched. */
export const seedOrg = (client: QueryClient, code: string, changes: Partial<Org>): void =>
  void client.setQueryData(sessionQuery.queryKey, (session) => {
    if (session?.status !== 'signedIn') return session
    const organizations = session.user.organizations.map((org) => (org.code === code ? { ...org, ...changes } : org))
    return { ...session, user: { ...session.user, organizations } }
  })
