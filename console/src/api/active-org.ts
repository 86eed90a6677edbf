import type { Org, User } from '@shoal/contract'
import type { QueryClient } from '@tanstack/react-query'
import { getSetting, setSetting, useSetting } from '../lib/local-settings.ts'
import { sessionQuery, useUser } from './session.ts'

/** The organization that screens receive while the user has none (spec 4). */
const placeholder: Org = {
  id: 0,
  code: '',
  name: null,
  email: { email: null, pendingEmail: null },
  status: 'DRAFT',
  roleType: 'admin',
  limits: { squids: 3, playground: false },
  billingDetails: null,
  suspension: null,
}

/** The stored organization if the user is still a member, otherwise the first (spec 4). */
function pickOrg(organizations: readonly Org[], storedId: number | null): Org {
  return organizations.find(({ id }) => id === storedId) ?? organizations[0] ?? placeholder
}

/** The organization that all screens show. */
export function useOrg(): Org {
  const storedId = useSetting('userOrg')
  return pickOrg(useUser().organizations, storedId)
}

/**
 * The active organization, for code that runs before a screen is mounted. Null while the user is signed out, has not confirmed the email,
 * or has no organization.
 */
export function findOrg(client: QueryClient): Org | null {
  const session = client.getQueryData(sessionQuery.queryKey)
  if (session?.status !== 'signedIn' || !session.user.emailVerified) return null
  const org = pickOrg(session.user.organizations, getSetting('userOrg'))
  return org === placeholder ? null : org
}

/** Makes the organization with this code the active one, if the user is a member of it; otherwise does nothing. */
export function selectOrg(user: User, code: string): void {
  const org = user.organizations.find((candidate) => candidate.code === code)
  if (!org) return
  setSetting('userOrg', org.id)
  rememberCode(org)
}

/** Stores the code of the active organization for the next visit (`build/head-script.ts`). */
export function rememberCode({ code }: Org): void {
  if (getSetting('userOrgCode') !== code) setSetting('userOrgCode', code)
}

/** The name of the organization, or its code if it has no name (spec 3). */
export const orgTitle = (org: Pick<Org, 'name' | 'code'>): string => org.name ?? org.code
